/** A lab as an address describes it. */
import { Lab } from '../lab/lab.ts';
import { KINDS } from '../model/kinds/index.ts';
import { PLANS, planOf } from '../model/stories/index.ts';
import { readSetup } from '../setup/address.ts';
import { readMoment } from '../setup/moment.ts';
import { pageStory } from '../story/page-story.ts';
import { tell } from '../story/tell.ts';
import { Frames } from '../view/frames.ts';

export interface OpenedLab {
  readonly lab: Lab;
  readonly frames: Frames;
}

declare global {
  /** For the curious at the console, and for tests. */
  var sluiceLab: OpenedLab | undefined;
}

/** An address with a set-up opens it, one with a moment shows that; without either the first story is told, so that there is something to see. */
export function openLab(query: string): OpenedLab {
  const parameters = new URLSearchParams(query);
  const setup = readSetup(parameters);
  const lab = new Lab(setup);
  const moment = readMoment(
    parameters,
    KINDS.map(({ id }) => id),
  );
  const plan =
    planOf(parameters.get('embed')) ??
    planOf(setup.story) ??
    (isBare(parameters) ? (pageStory() ?? PLANS[0]) : undefined);
  if (plan !== undefined) void tell(lab, plan, setup);
  else if (moment !== undefined && lab.engine.isVirtual) void lab.showMoment(moment);
  // What an earlier visit left on the server is not in this one's time line.
  else if (!lab.engine.isVirtual) void lab.reset();
  const opened = { lab, frames: new Frames(lab) };
  globalThis.sluiceLab = opened;
  return opened;
}

/** Nothing is asked for but a row. */
function isBare(parameters: URLSearchParams): boolean {
  return [...parameters.keys()].every((name) => name === 'row' || name === 'tab');
}
