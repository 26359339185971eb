import adapter from '@sveltejs/adapter-node';

// biome-ignore lint/style/noDefaultExport: SvelteKit wants it so.
export default { kit: { adapter: adapter() } };
