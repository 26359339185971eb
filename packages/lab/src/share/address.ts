/** The address of what is shown: the set-up, what was sent by hand, the moment, and the row that is open. */
import type { Lab } from '../lab/lab.ts';
import { writeSetup } from '../setup/address.ts';
import { writeMoment } from '../setup/moment.ts';

/** Without a moment: as it is kept in the address bar while time goes on. */
export function queryOf(lab: Lab, row: string | undefined, withMoment: boolean): URLSearchParams {
  const parameters = writeSetup(lab.setup);
  const { moment } = lab;
  if (withMoment && moment !== undefined && lab.trace.length > 0) writeMoment(parameters, moment);
  if (row !== undefined) parameters.set('row', row);
  return parameters;
}

export function addressOf(parameters: URLSearchParams): string {
  return `${location.origin}${location.pathname}#/?${readable(parameters)}`;
}

/** Colons, commas and slashes mean nothing behind a hash, and are easier to read as they are. */
function readable(parameters: URLSearchParams): string {
  return parameters
    .toString()
    .replaceAll('%3A', ':')
    .replaceAll('%2C', ',')
    .replaceAll('%2F', '/')
    .replaceAll('%40', '@');
}

/** For an article: one story in a frame. */
export function embedCode(story: string): string {
  const address = `${location.origin}${location.pathname}#/?embed=${story}`;
  return `<iframe src="${address}" title="Sluice lab" width="100%" height="640" loading="lazy" style="border:0"></iframe>`;
}
