/** A canvas as sharp as the screen is, which knows its size in CSS pixels and whether anybody can see it. */
export interface Surface {
  readonly element: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  width: number;
  height: number;
  /** Device pixels to a CSS pixel. */
  scale: number;
  isVisible: boolean;
  /** Whether to draw now: what nobody sees, twice a second is enough. Says so once for each drawing. */
  isDue(): boolean;
  stop(): void;
}

const OUT_OF_SIGHT = 500;

/** `redraw` is called when there is a reason: another size, which empties the canvas, or it came into sight. */
export function surfaceOn(element: HTMLCanvasElement, redraw: () => void): Surface {
  let drawnAt = Number.NEGATIVE_INFINITY;
  const surface: Surface = {
    element,
    context: element.getContext('2d')!,
    width: 0,
    height: 0,
    scale: 1,
    isVisible: true,
    isDue() {
      const now = performance.now();
      if (!surface.isVisible && now - drawnAt < OUT_OF_SIGHT) return false;
      drawnAt = now;
      return true;
    },
    stop() {
      sizes.disconnect();
      sights.disconnect();
    },
  };
  const sizes = new ResizeObserver(() => {
    fit(surface);
    redraw();
  });
  const sights = new IntersectionObserver((entries) => {
    surface.isVisible = entries.at(-1)!.isIntersecting;
    redraw();
  });
  sizes.observe(element);
  sights.observe(element);
  fit(surface);
  return surface;
}

function fit(surface: Surface): void {
  const { element } = surface;
  const scale = Math.min(2, devicePixelRatio || 1);
  const [width, height] = [element.clientWidth, element.clientHeight];
  if (width === surface.width && height === surface.height && scale === surface.scale) return;
  Object.assign(surface, { width, height, scale });
  element.width = Math.max(1, Math.round(width * scale));
  element.height = Math.max(1, Math.round(height * scale));
}
