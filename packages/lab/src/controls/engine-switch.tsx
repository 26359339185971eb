/** Where the limiters run: here, on virtual time, or on the server that gave out this page, in real time. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EngineKind } from '../engine/engine.ts';
import { findEngines } from '../engine/server-engine.ts';
import { savedToken, saveToken } from '../token/token.ts';
import { TokenForm } from '../token/token-form.tsx';
import { Segments } from '../ui/segments.tsx';
import { useLab } from '../view/frames.ts';

const KINDS = ['browser', 'memory', 'redis'] as const;
const LABELS: Readonly<Record<EngineKind, string>> = { browser: 'Browser', memory: 'Server', redis: 'Redis' };

type Found = Awaited<ReturnType<typeof findEngines>>;

export function EngineSwitch(): JSX.Element {
  const { lab } = useLab();
  const [found, setFound] = useState<Found>();
  /** What was asked for while the server wants a token first. */
  const [wanted, setWanted] = useState<EngineKind>();
  const [token, setToken] = useState(savedToken);
  useEffect(() => {
    void findEngines().then((engines) => {
      setFound(engines);
      if (engines === 'locked' && lab.setup.engine !== 'browser') setWanted(lab.setup.engine);
    });
  }, [lab]);

  const choose = (kind: EngineKind, engines: Found | undefined): void => {
    const isLocked = engines === 'locked' && kind !== 'browser';
    setWanted(isLocked ? kind : undefined);
    if (!isLocked && whyNot(kind, engines) === undefined) void lab.switchEngine(kind);
  };
  const unlock = async (given: string): Promise<void> => {
    saveToken(given);
    setToken(given);
    const engines = await findEngines();
    setFound(engines);
    choose(wanted!, engines);
  };
  const options = KINDS.map((value) => ({
    value,
    label: LABELS[value],
    disabled: whyNot(value, found),
    title: describe(value, found),
  }));
  return (
    <div class="engine">
      <span class="eyebrow">Runs in</span>
      <Segments
        label="Engine"
        options={options}
        value={wanted ?? lab.setup.engine}
        onChange={(kind) => choose(kind, found)}
      />
      {wanted !== undefined && (
        <TokenForm
          key={token}
          wasWrong={token !== ''}
          why="The engines of this server are not for everybody."
          action="Unlock"
          onToken={(given) => void unlock(given)}
        />
      )}
    </div>
  );
}

/** Why an engine cannot be chosen; undefined when it can, be it for a token. */
function whyNot(kind: EngineKind, found: Found | undefined): string | undefined {
  if (kind === 'browser' || found === 'locked') return undefined;
  const info = found?.find(({ name }) => name === kind);
  if (info === undefined) return 'This page did not come from a Sluice server. Start one with: npx sluice serve';
  return info.available ? undefined : info.description;
}

function describe(kind: EngineKind, found: Found | undefined): string | undefined {
  if (kind === 'browser') return 'The library itself, in this page, on virtual time';
  return found === 'locked'
    ? 'asks for the token of the server'
    : found?.find(({ name }) => name === kind)?.description;
}
