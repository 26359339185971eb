/** GET /health */
export const GET = (): Response => new Response('ok');
