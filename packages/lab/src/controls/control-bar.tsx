/** Everything that sends requests or moves time; below the rows on a phone, so that it is always in reach. */
import type { ComponentChildren, JSX } from 'preact';
import { SendControls, TrafficControls } from './send-controls.tsx';
import { TimeControls } from './time-controls.tsx';

export function ControlBar(props: {
  readonly onSend: (count: number) => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="controls" aria-label="Controls">
      <SendControls onSend={props.onSend} />
      <TrafficControls />
      <TimeControls />
      <div class="control-group end">{props.children}</div>
    </section>
  );
}
