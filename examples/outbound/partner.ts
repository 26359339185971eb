/** A partner with a limit, which it keeps with Sluice too. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/node';

export interface Partner {
  readonly url: string;
  seen(): { readonly served: number; readonly refused: number };
}

/** Those of one second are forgiven when they come at once: no network and no busy machine delivers evenly. */
export async function startPartner({ perSecond }: { perSecond: number }): Promise<Partner> {
  const seen = { served: 0, refused: 0 };
  const limited = rateLimit({
    policy: tokenBucket({ name: 'partner', capacity: perSecond, refillRate: perSecond }),
    onDenied: () => void seen.refused++,
  });
  const server = createServer(
    limited((request, response) => {
      seen.served++;
      response.end(`quote for ${request.url?.split('/').at(-1)}`);
    }),
  );
  await new Promise((listening) => server.listen(0, '127.0.0.1', () => listening(undefined)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen: () => ({ ...seen }) };
}
