/** One algorithm: its state as a picture, what is left, when to come back, what happened to the last requests. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { READABLE, useDraw, useLab } from '../app/frames.ts';
import { currentPalette } from '../canvas/palette.ts';
import { type Surface, surfaceOn } from '../canvas/surface.ts';
import { countdown, seconds } from '../canvas/words.ts';
import { CardCode } from '../config/card-code.tsx';
import { CardForm } from '../config/card-form.tsx';
import type { CardState } from '../engine/card-state.ts';
import { type CardKind, summaryOf } from './catalog.ts';
import { CountMarks } from './count-marks.tsx';
import { PICTURES } from './pictures/index.ts';
import { RawStateView } from './raw-state.tsx';
import { RequestLog } from './request-log.tsx';

const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
/** How often a picture's description is written: nobody hears sixty a second. */
const SAYABLE = 1_000;

type Drawer = 'settings' | 'code' | undefined;

/** A card that is wanted is what the address is about: it opens, and comes into sight. */
export function Card({ kind, isWanted }: { readonly kind: CardKind; readonly isWanted: boolean }): JSX.Element {
  const { lab, frames } = useLab();
  const { id, title, idea } = kind;
  const [drawer, setDrawer] = useState<Drawer>(isWanted ? 'code' : undefined);
  const canvas = useRef<HTMLCanvasElement>(null);
  const surface = useRef<Surface | undefined>(undefined);
  const remaining = useRef<HTMLElement>(null);
  const retry = useRef<HTMLParagraphElement>(null);

  useEffect(() => {
    if (isWanted) canvas.current!.closest('article')!.scrollIntoView({ block: 'center' });
  }, [isWanted]);
  useLayoutEffect(() => {
    surface.current = surfaceOn(canvas.current!, () => frames.redraw());
    return () => surface.current?.stop();
  }, []);

  useDraw(() => {
    if (!surface.current!.isDue()) return false;
    return paint(surface.current!, lab.state(id));
  });
  useDraw(() => {
    const state = lab.state(id);
    setText(remaining.current!, String(state.remaining));
    const isDenied = state.retryAfter !== undefined && state.retryAfter > 0;
    setText(retry.current!, isDenied ? retryText(state.retryAfter!) : '');
  }, READABLE);
  useDraw(() => canvas.current!.setAttribute('aria-label', describe(title, lab.state(id))), SAYABLE);

  const paint = ({ context, width, height, scale }: Surface, state: CardState): void => {
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const palette = currentPalette();
    const { trace, client } = lab;
    PICTURES[id]({ context, width, height, palette, state, trace, id, client, still: reducedMotion.matches });
  };

  const toggle = (wanted: Drawer): void => setDrawer(drawer === wanted ? undefined : wanted);
  const policy = lab.policies[id];
  return (
    <article
      class={`card panel ${drawer === undefined ? '' : 'open'} ${isWanted ? 'wanted' : ''}`}
      aria-labelledby={`${id}-title`}
      data-card={id}
    >
      <header class="card-head">
        <div>
          <h3 id={`${id}-title`}>{title}</h3>
          <p class="card-summary">{summaryOf(policy)}</p>
        </div>
        <div class="card-tools">
          <IconButton label={`Settings of ${title}`} pressed={drawer === 'settings'} onClick={() => toggle('settings')}>
            <path d="M4 7h9m5 0h2M4 17h2m5 0h9M13 4.5v5M6 14.5v5" />
          </IconButton>
          <IconButton label={`${title} as code`} pressed={drawer === 'code'} onClick={() => toggle('code')}>
            <path d="m8 7-5 5 5 5m8-10 5 5-5 5" />
          </IconButton>
        </div>
      </header>
      <canvas class="picture" ref={canvas} role="img" aria-label={`${title}: ${idea}`} />
      {drawer === undefined && <p class="card-idea">{idea}</p>}
      <div class="card-numbers">
        <p class="remaining">
          <strong class="numeric" ref={remaining} data-remaining>
            {lab.state(id).remaining}
          </strong>
          <span>left</span>
        </p>
        <p class="retry numeric" ref={retry} data-retry />
        <CountMarks id={id} />
      </div>
      {drawer === 'settings' && <CardForm kind={kind} />}
      {drawer === 'code' && <CardCode id={id} />}
      {drawer === undefined && <RequestLog id={id} />}
      {!lab.engine.isVirtual && <RawStateView id={id} />}
    </article>
  );
}

function IconButton(props: {
  readonly label: string;
  readonly pressed: boolean;
  readonly onClick: () => void;
  readonly children: JSX.Element;
}): JSX.Element {
  return (
    <button
      type="button"
      class="icon-button small"
      aria-label={props.label}
      aria-expanded={props.pressed}
      onClick={props.onClick}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true">
        {props.children}
      </svg>
    </button>
  );
}

function retryText(ms: number): string {
  return Number.isFinite(ms) ? `retry in ${countdown(ms)}` : 'never fits';
}

export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function describe(title: string, { remaining, limit, retryAfter }: CardState): string {
  const retry =
    retryAfter !== undefined && retryAfter > 0 ? `, the last request may come again in ${seconds(retryAfter)}` : '';
  return `${title}: ${remaining} of ${limit} left${retry}`;
}
