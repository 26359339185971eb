/** Tokens of a language model: what a bucket allows when requests are charged afterwards, and when a learned estimate is reserved and settled. */
import { chargingAfterwards, madeTrace, readTrace, reserving } from '../measure/llm-trace.mjs';
import { count, ratio } from '../report/format.mjs';
import { atLeast, atMost } from '../report/reach.mjs';

/** A trace with TIMESTAMP, ContextTokens and GeneratedTokens, such as AzureLLMInferenceTrace_conv.csv of Azure/AzurePublicDataset. */
const TRACE = process.env.SLUICE_LLM_TRACE;

const QUANTILES = [0.5, 0.7, 0.9];
/** What a bucket does not give back is what has refilled since, so estimates are best in the middle, and debt covers the rest. */
const BEST = 0.5;

export const group = {
  title: 'Tokens of a language model',
  about:
    'a trace under 100,000 tokens a minute: charged afterwards, or reserved and settled; SLUICE_LLM_TRACE names a trace',
  place: 110,
  async run({ progress }) {
    const traces = [['made', madeTrace()], ...(TRACE === undefined ? [] : [['trace', readTrace(TRACE)]])];
    const measured = [];
    for (const [name, trace] of traces) {
      progress.group(`tokens of a language model, ${name}`);
      const afterwards = await chargingAfterwards(trace);
      const reserved = [];
      for (const quantile of QUANTILES) reserved.push({ quantile, ...(await reserving(trace, quantile)) });
      measured.push({ name, requests: trace.length, afterwards, reserved });
    }
    const best = measured.map(({ name, afterwards, reserved }) => {
      const { allowed, worst } = reserved.find(({ quantile }) => quantile === BEST);
      return { name, times: allowed / afterwards.allowed, minutes: worst / afterwards.worst };
    });
    return {
      tables: measured.map(tableOf),
      reach: [
        atLeast(
          'times the requests that charging afterwards allows',
          1.7,
          best.map(({ name, times }) => [name, times]),
        ),
        atMost(
          'the worst minute against that of charging afterwards',
          1,
          best.map(({ name, minutes }) => [name, minutes]),
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
    rows: [
      row('charged afterwards', afterwards),
      ...reserved.map((each) => row(`reserved at the quantile ${each.quantile}, settled`, each)),
    ],
  };
}
