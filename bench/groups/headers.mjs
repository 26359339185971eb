/** What header fields cost a request: none, those of the draft, and both families, beside constant ones that nobody decides. */
import { FRAMEWORKS } from '../contenders/middleware.mjs';
import { workOf } from '../measure/middleware-work.mjs';
import { micros, ratio, spread } from '../report/format.mjs';
import { atMost } from '../report/reach.mjs';

const SIZES = {
  quick: { rounds: 160, requests: 100, warmUp: 4000 },
  full: { rounds: 480, requests: 100, warmUp: 10_000 },
};
const NAMES = {
  bare: 'bare',
  'constant fields: 2': 'two constant fields',
  'constant fields: 5': 'five constant fields',
  'sluice none': 'Sluice, no fields',
  'sluice draft': "Sluice, the draft's two",
  'sluice both': 'Sluice, both families (the default), five',
};

export const group = {
  title: 'What header fields cost',
  about: "CPU of a request with the draft's header fields, and with both families, which is the default",
  place: 90,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const cells = [];
    for (const framework of FRAMEWORKS) {
      progress.group(`headers, ${framework}`);
      const [work] = await workOf(framework, Object.keys(NAMES).slice(1), size);
      cells.push({ framework, work });
    }
    return { tables: cells.map(tableOf), reach: [reachOf(cells)], cells };
  },
};

const of = (work, wanted) => work.find(({ variant }) => variant === wanted).cpuMicros.mean;

function tableOf({ framework, work }) {
  return {
    title: `${framework}: CPU of a request`,
    columns: ['', 'us/request', 'added us', 'min-max', "vs the draft's"],
    rows: work.map(({ variant, cpuMicros, added }) => [
      ...[NAMES[variant], micros(cpuMicros.mean), micros(added.mean), spread(added, micros)],
      ratio(cpuMicros.mean / of(work, 'sluice draft')),
    ]),
  };
}

function reachOf(cells) {
  const rows = cells.map(({ framework, work }) => [framework, of(work, 'sluice both') / of(work, 'sluice draft')]);
  return atMost("CPU of a request, both families of fields against the draft's alone", 1.1, rows);
}
