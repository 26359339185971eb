/**
 * The loop of one contender, written as people write it: a key made for this request, an awaited attempt, a "no" that may be a rejection.
 * It is imported once for each contender, under another address, so that the engine does not compile it for all of them together.
 */
export async function awaited(check, nextKey, amount) {
  for (let i = 0; i < amount; i += 1) {
    try {
      await check(nextKey());
    } catch (rejection) {
      if (rejection instanceof Error) throw rejection;
    }
  }
}

export function synchronous(check, nextKey, amount) {
  let allowed = 0;
  for (let i = 0; i < amount; i += 1) if (check(nextKey()).allowed) allowed += 1;
  return allowed;
}
