/** The lab: stories and controls above, seven cards side by side, one time line below. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useReducer, useState } from 'preact/hooks';
import { Card } from '../cards/card.tsx';
import { CARDS } from '../cards/catalog.ts';
import { Scoreboard } from '../cards/scoreboard.tsx';
import { ControlBar } from '../controls/control-bar.tsx';
import { CopyButton } from '../controls/copy-button.tsx';
import { EngineSwitch } from '../controls/engine-switch.tsx';
import { PresetBar } from '../controls/preset-bar.tsx';
import { Lab } from '../engine/lab.ts';
import { PRESETS, presetOf } from '../presets/presets.ts';
import { tell } from '../presets/tell.ts';
import { readSetup, type Setup, writeSetup } from '../share/share.ts';
import { Timeline } from '../timeline/timeline.tsx';
import { Frames, LabContext, useLab } from './frames.ts';

declare global {
  /** For the curious at the console, and for tests. */
  var sluiceLab: { readonly lab: Lab; readonly frames: Frames } | undefined;
}

export function LabPage({ parameters }: { readonly parameters: URLSearchParams }): JSX.Element {
  const query = parameters.toString();
  const value = useMemo(() => openLab(query), [query]);
  return (
    <LabContext.Provider value={value}>
      <LabView key={query} wanted={parameters.get('card')} />
    </LabContext.Provider>
  );
}

/** An address with a set-up opens it; without one the first story is told, so that there is something to see. */
function openLab(query: string): { readonly lab: Lab; readonly frames: Frames } {
  const parameters = new URLSearchParams(query);
  const setup = readSetup(parameters);
  const lab = new Lab(setup);
  const preset = query === '' ? PRESETS[0] : presetOf(setup.preset ?? null);
  if (preset !== undefined) void tell(lab, preset, setup);
  // What an earlier visit left on the server is not in this one's time line.
  else if (!lab.engine.isVirtual) void lab.reset();
  const value = { lab, frames: new Frames(lab) };
  globalThis.sluiceLab = value;
  return value;
}

/** The address follows the set-up, so that it can be shared and opened again as it is, but not each step of a slider. */
const SETTLED_MS = 300;

function LabView({ wanted }: { readonly wanted: string | null }): JSX.Element {
  const { lab, frames } = useLab();
  const [, refresh] = useReducer((count: number) => count + 1, 0);
  const [said, say] = useState('');
  useEffect(() => {
    // What happened before anyone listened.
    refresh(undefined);
    return lab.onChange(() => refresh(undefined));
  }, [lab]);
  useEffect(() => frames.start(), [frames]);
  const address = addressOf(lab.setup);
  useEffect(() => {
    const settled = setTimeout(() => history.replaceState(null, '', address), SETTLED_MS);
    return () => clearTimeout(settled);
  }, [address]);

  return (
    <>
      <section class="hero">
        <div>
          <h1>The same requests, seven ways to limit them</h1>
          <p class="lede">
            Rate limiting algorithms differ in what they let through, and when. Send traffic and see it.
          </p>
        </div>
        <EngineSwitch />
      </section>
      <PresetBar />
      <ControlBar say={say} share={<CopyButton text={address} label="Copy link" />} />
      {lab.problem !== undefined && (
        <p class="problem banner" role="alert">
          {lab.problem}
        </p>
      )}
      <p class="visually-hidden" aria-live="polite" data-announcer>
        {said}
      </p>
      <section class="cards" aria-label="Algorithms">
        <Scoreboard />
        {CARDS.map((kind) => (
          <Card key={kind.id} kind={kind} isWanted={kind.id === wanted} />
        ))}
      </section>
      <Timeline />
    </>
  );
}

function addressOf(setup: Setup): string {
  return `${location.origin}${location.pathname}#/?${writeSetup(setup)}`;
}
