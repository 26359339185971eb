/** The lab: a caption above, the controls, and all rows on one screen; a row opens beside them. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import { ControlBar } from '../controls/control-bar.tsx';
import { EngineSwitch } from '../controls/engine-switch.tsx';
import { useShortcuts } from '../controls/shortcuts.ts';
import type { Lab } from '../lab/lab.ts';
import { planAfter } from '../model/stories/index.ts';
import { Rows } from '../rows/rows.tsx';
import { addressOf, queryOf } from '../share/address.ts';
import { RowSheet, type Tab } from '../sheet/row-sheet.tsx';
import { Callout } from '../story/callout.tsx';
import { Caption } from '../story/caption.tsx';
import { StoryBar } from '../story/story-bar.tsx';
import { tell } from '../story/tell.ts';
import { ViewTools } from '../timeline/view-tools.tsx';
import { Viewer } from '../timeline/viewer.ts';
import { Icon } from '../ui/icons.tsx';
import { later } from '../ui/later.tsx';
import { describeLast } from '../verdict/announce.ts';
import { LabContext, useLab } from '../view/frames.ts';
import { useMedia } from '../view/media.ts';
import { openLab } from './open-lab.ts';

const ShareDialog = later(async () => (await import('../share/share-dialog.tsx')).ShareDialog, null);

export interface LabPageProps {
  readonly parameters: URLSearchParams;
  readonly onHelp: () => void;
}

export function LabPage({ parameters, onHelp }: LabPageProps): JSX.Element {
  const query = parameters.toString();
  const opened = useMemo(() => openLab(query), [query]);
  return (
    <LabContext.Provider value={opened}>
      <LabView
        key={query}
        row={parameters.get('row') ?? undefined}
        tab={parameters.get('tab') === 'code' ? 'code' : 'watch'}
        isEmbedded={parameters.has('embed')}
        onHelp={onHelp}
      />
    </LabContext.Provider>
  );
}

/** The address follows the set-up, so that it can be opened again as it is, but not each step of a slider. */
const SETTLED_MS = 300;

interface LabViewProps {
  readonly row: string | undefined;
  readonly tab: Tab;
  readonly isEmbedded: boolean;
  readonly onHelp: () => void;
}

function LabView(props: LabViewProps): JSX.Element {
  const { lab, frames } = useLab();
  const viewer = useMemo(() => new Viewer(), [lab]);
  const [opened, setOpened] = useState(props.row);
  const [tab, setTab] = useState<Tab>(props.tab);
  const [said, say] = useState('');
  const [isSharing, setSharing] = useState(false);
  const hasRoom = useMedia('(min-width: 860px)');
  useFollow(lab, opened);
  useEffect(() => frames.start(), [frames]);
  const send = (count: number): void =>
    void lab.send(count).then(() => {
      if (lab.trace.length > 0) say(describeLast(lab, count));
    });
  useKeys({ viewer, opened, setOpened, send, onHelp: props.onHelp });
  const row = lab.rows.find(({ id }) => id === opened);
  const pointedAt = lab.player?.said.row;
  const isCalledOut = pointedAt !== undefined && hasRoom;
  return (
    <div class={`lab ${row === undefined ? '' : 'with-sheet'} ${props.isEmbedded ? 'embedded' : ''}`}>
      <h1 class="visually-hidden">Sluice lab: the same requests through seven rate limiting algorithms</h1>
      {!props.isEmbedded && (
        <div class="lab-head">
          <StoryBar />
          <EngineSwitch />
        </div>
      )}
      <Caption isCalledOut={isCalledOut} />
      {lab.problem !== undefined && (
        <p class="problem banner" role="alert">
          {lab.problem}
        </p>
      )}
      <ControlBar onSend={send}>
        <Tools viewer={viewer} onShare={() => setSharing(true)} say={say} />
      </ControlBar>
      <p class="visually-hidden" aria-live="polite" data-announcer>
        {said}
      </p>
      <div class="stage">
        <Rows viewer={viewer} opened={row?.id} onOpen={setOpened} pointedAt={pointedAt}>
          {isCalledOut && <Callout />}
        </Rows>
        {row !== undefined && <RowSheet row={row} tab={tab} onTab={setTab} onClose={() => setOpened(undefined)} />}
      </div>
      {isSharing && <ShareDialog row={row?.id} viewer={viewer} onClose={() => setSharing(false)} />}
    </div>
  );
}

function Tools(props: {
  readonly viewer: Viewer;
  readonly onShare: () => void;
  readonly say: (words: string) => void;
}): JSX.Element {
  const { lab } = useLab();
  return (
    <>
      <ViewTools viewer={props.viewer} />
      <button type="button" class="button" title="Share this scene" aria-label="Share" onClick={props.onShare}>
        <Icon name="share" /> <span class="wide-only">Share</span>
      </button>
      <button
        type="button"
        class="button"
        title="Reset all counters (R)"
        aria-label="Reset all counters"
        onClick={() => void lab.reset().then(() => props.say('All counters are reset.'))}
      >
        <Icon name="reset" /> <span class="wide-only">Reset</span>
      </button>
    </>
  );
}

/** The keys do what the last rendering says; the listener is added once. */
function useKeys(keys: {
  readonly viewer: Viewer;
  readonly opened: string | undefined;
  readonly setOpened: (row: string | undefined) => void;
  readonly send: (count: number) => void;
  readonly onHelp: () => void;
}): void {
  const { lab, frames } = useLab();
  const latest = useRef(keys);
  latest.current = keys;
  useShortcuts({
    ...{ lab, viewer: keys.viewer, redraw: () => frames.redraw() },
    help: () => latest.current.onHelp(),
    send: (count) => latest.current.send(count),
    open: (place) => {
      const id = lab.rows[place]?.id;
      latest.current.setOpened(id === latest.current.opened ? undefined : id);
    },
    close: () => latest.current.setOpened(undefined),
    next: () =>
      void (lab.story === undefined || lab.isOver ? tell(lab, planAfter(lab.story?.id ?? '')) : lab.nextBeat()),
  });
}

/** Renders again with every change of the lab, and keeps the address bar up to date. */
function useFollow(lab: Lab, row: string | undefined): void {
  const [, refresh] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    // What happened before anyone listened.
    refresh(undefined);
    return lab.onChange(() => refresh(undefined));
  }, [lab]);
  const address = addressOf(queryOf(lab, row, false));
  useEffect(() => {
    if (new URLSearchParams(location.hash.split('?')[1]).has('embed')) return;
    const settled = setTimeout(() => history.replaceState(null, '', address), SETTLED_MS);
    return () => clearTimeout(settled);
  }, [address]);
}
