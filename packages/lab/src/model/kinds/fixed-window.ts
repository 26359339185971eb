/** Fixed window. */
import { type Kind, numberIn } from '../kind.ts';
import { fixedWindowPicture } from '../pictures/fixed-window.ts';
import { WINDOW_KIND } from './windows.ts';

export const fixedWindowKind: Kind = {
  ...WINDOW_KIND,
  id: 'fixed-window',
  algorithm: 'fixed-window',
  title: 'Fixed window',
  short: 'Fixed window',
  tradeOff: 'Simple; twice the limit at edges',
  steps: [
    'Time is cut into windows of the clock, such as every full minute.',
    'Each request adds 1 to the count of the current window.',
    'When the count has reached the limit, requests are denied until the window ends.',
    'At the edge the count starts again at 0, whatever came just before it.',
  ],
  knownFrom: 'Envoy’s rate limit service, calendar quotas such as 10,000 a day',
  burst: 'the whole limit at any time, and again after the edge',
  bestFor: 'Quotas by the calendar: 10,000 a day',
  factory: 'fixedWindow',
  fields: [
    ...WINDOW_KIND.fields,
    {
      ...{ name: 'align', kind: 'choice', label: 'Windows start', hint: 'at full minutes, or with each client' },
      choices: [
        { value: 'epoch', label: 'on the clock' },
        { value: 'first', label: 'with the first request' },
      ],
    },
  ],
  defaults: { align: 'epoch' },
  draftOf: (limit) => ({ ...WINDOW_KIND.draftOf(limit), align: 'epoch' }),
  picture: fixedWindowPicture,
  clockWindow: (numbers) => numberIn(numbers, 'window'),
  used: ({ trace, row, granted, resetAfter, numbers }) =>
    resetAfter > 0 ? numberIn(numbers, 'limit') - trace.rows[row.id]!.remaining[trace.slot(granted)]! : 0,
  why: () => 'this window is used up',
};
