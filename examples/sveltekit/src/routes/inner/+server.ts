/** GET /inner: what SvelteKit asks itself is not counted again. */
export const GET = async ({ fetch }: { fetch: typeof globalThis.fetch }): Promise<Response> => fetch('/health');
