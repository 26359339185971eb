/** POST /login */
export const POST = (): Response => Response.json({ welcome: true });
