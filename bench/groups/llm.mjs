/** Tokens of a language model: what a bucket allows when requests are charged afterwards, and when a learned estimate is reserved and settled. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chargingAfterwards, IN_DEBT, madeTrace, readTrace, reserving } from '../measure/llm-trace.mjs';
import { count, ratio } from '../report/format.mjs';
import { atLeast, atMost } from '../report/reach.mjs';

/** A trace with TIMESTAMP, ContextTokens and GeneratedTokens, such as AzureLLMInferenceTrace_conv.csv of Azure/AzurePublicDataset (CC BY 4.0). */
const BESIDE = fileURLToPath(new URL('../../../shared/data/llm-conversations.csv', import.meta.url));

const INSTALLED = 'reserved with estimates() as installed, settled';
const WAYS = [
  { what: INSTALLED },
  ...[0.5, 0.7, 0.9].map((quantile) => ({
    what: `the same at the quantile ${quantile}, with maxDebt`,
    options: { quantile },
    holding: IN_DEBT,
  })),
];

export const group = {
  title: 'Tokens of a language model',
  about:
    'a trace under 100,000 tokens a minute: charged afterwards, or reserved and settled; --trace FILE names one of yours',
  place: 110,
  async run({ progress, trace: given = process.env.SLUICE_LLM_TRACE }) {
    const file = given ?? (existsSync(BESIDE) ? BESIDE : undefined);
    const traces = [['made', madeTrace()], ...(file === undefined ? [] : [['trace', readTrace(file)]])];
    const measured = [];
    for (const [name, trace] of traces) {
      progress.group(`tokens of a language model, ${name}`);
      const afterwards = await chargingAfterwards(trace);
      const reserved = [];
      for (const { what, options, holding } of WAYS)
        reserved.push({ what, ...(await reserving(trace, options, holding)) });
      measured.push({ name, requests: trace.length, afterwards, reserved });
    }
    const installed = measured.map(({ name, afterwards, reserved }) => {
      const { allowed, worst } = reserved.find(({ what }) => what === INSTALLED);
      return { name, times: allowed / afterwards.allowed, minutes: worst / afterwards.worst };
    });
    return {
      tables: measured.map(tableOf),
      reach: [
        atLeast(
          'as installed: times the requests that charging afterwards allows',
          1.7,
          installed.map(({ name, times }) => [name, times]),
        ),
        atMost(
          'as installed: the worst minute against that of charging afterwards',
          1,
          installed.map(({ name, minutes }) => [name, minutes]),
        ),
      ],
    };
  },
};

function tableOf({ name, requests, afterwards, reserved }) {
  const row = (what, { allowed, tokens, worst }) => [
    what,
    count(allowed),
    ratio(allowed / afterwards.allowed),
    count(tokens),
    `${worst.toFixed(2)} x the limit`,
  ];
  return {
    title: `${name === 'made' ? 'A made trace' : 'The trace that was given'}: ${count(requests)} requests, 100,000 tokens a minute`,
    columns: ['', 'allowed', 'against charging afterwards', 'tokens', 'worst minute'],
    rows: [row('charged afterwards', afterwards), ...reserved.map((each) => row(each.what, each))],
  };
}
