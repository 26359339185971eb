/** GET / */
export const GET = ({ locals }: { locals: { rateLimit?: { remaining: number } } }): Response =>
  Response.json({ left: locals.rateLimit?.remaining });
