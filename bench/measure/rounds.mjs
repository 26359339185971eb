/**
 * Contenders take turns within each round, and each round starts with another one, so that neither a slow minute of the machine
 * nor a place in the order falls on one of them.
 */
export async function interleave({ rounds, contenders, run, onTurn = () => undefined }) {
  const records = new Map(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const contender = contenders[(turn + round) % contenders.length];
      onTurn(contender, round);
      records.get(contender).push(await run(contender, round));
    }
  }
  return records;
}
