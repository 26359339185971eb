/** Ways to hand on what is shown: a link, a picture, and a frame for an article. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Viewer } from '../timeline/viewer.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useLab } from '../view/frames.ts';
import { clockTime } from '../words/words.ts';
import { addressOf, embedCode, queryOf } from './address.ts';
import { download, sceneSvg } from './scene-svg.ts';

export interface ShareDialogProps {
  readonly row: string | undefined;
  readonly viewer: Viewer;
  readonly onClose: () => void;
}

export function ShareDialog({ row, viewer, onClose }: ShareDialogProps): JSX.Element {
  const { lab } = useLab();
  // As it was when the dialog was opened: time goes on behind it.
  const { address, hasMoment } = useMemo(() => {
    const parameters = queryOf(lab, row, true);
    return { address: addressOf(parameters), hasMoment: parameters.has('t') };
  }, []);
  return (
    <Dialog title="Share" onClose={onClose}>
      <div class="share">
        <section>
          <h3>Link</h3>
          <p>
            {hasMoment
              ? `It opens this scene at ${clockTime(lab.time)}, with the requests you sent.`
              : 'It opens this set-up from its start.'}
          </p>
          <Copyable text={address} />
        </section>
        <section>
          <h3>Picture</h3>
          <p>The rows as you see them, as an SVG file that stays sharp at any size.</p>
          <button type="button" class="button" onClick={() => download(sceneSvg(lab, viewer), 'sluice-lab.svg')}>
            Save as SVG
          </button>
        </section>
        {lab.story !== undefined && (
          <section>
            <h3>In an article</h3>
            <p>
              This story in a frame. The page has to be on a host that allows it, such as one made by npm run
              lab:static.
            </p>
            <Copyable text={embedCode(lab.story.id)} />
          </section>
        )}
      </div>
    </Dialog>
  );
}

function Copyable({ text }: { readonly text: string }): JSX.Element {
  return (
    <p class="copyable">
      <input
        class="input"
        readOnly
        value={text}
        aria-label="To copy"
        onFocus={(event) => event.currentTarget.select()}
      />
      <CopyButton text={text} label="Copy" />
    </p>
  );
}
