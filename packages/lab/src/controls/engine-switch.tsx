/** Where the limiters run: here, on virtual time, or on the server that gave out this page, in real time. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLab } from '../app/frames.ts';
import type { EngineKind } from '../engine/engine.ts';
import { findEngines, type ServerEngineInfo } from '../engine/server-engine.ts';
import { Segments } from './segments.tsx';

const LABELS: Readonly<Record<EngineKind, string>> = { browser: 'Browser', memory: 'Server memory', redis: 'Redis' };

export function EngineSwitch(): JSX.Element {
  const { lab } = useLab();
  const [found, setFound] = useState<readonly ServerEngineInfo[]>();
  useEffect(() => void findEngines().then(setFound), []);

  const why = (name: EngineKind): string | undefined => {
    if (name === 'browser') return undefined;
    const info = found?.find((engine) => engine.name === name);
    if (info === undefined) return 'This page did not come from a Sluice server: npm start brings one.';
    return info.available ? undefined : info.description;
  };
  const options = (['browser', 'memory', 'redis'] as const).map((value) => ({
    value,
    label: LABELS[value],
    disabled: why(value),
    title: found?.find(({ name }) => name === value)?.description,
  }));
  return (
    <div class="engine">
      <span class="eyebrow" id="engine-label">
        Runs in
      </span>
      <Segments
        label="Engine"
        options={options}
        value={lab.setup.engine}
        onChange={(kind) => void lab.switchEngine(kind)}
      />
    </div>
  );
}
