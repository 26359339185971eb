import { sveltekit } from '@sveltejs/kit/vite';

// biome-ignore lint/style/noDefaultExport: Vite wants it so.
export default { plugins: [sveltekit()] };
