/**
 * Draws what pictures draw on a canvas as SVG instead: as much of a canvas' context as they use, and nothing else. Transforms are translations, which is
 * all that is needed here.
 */

/** Two digits are sharper than any screen. */
function rounded(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

interface Saved {
  readonly x: number;
  readonly y: number;
  readonly groups: number;
}

export class SvgContext {
  fillStyle = '#000';
  strokeStyle = '#000';
  lineWidth = 1;
  lineCap = 'butt';
  lineJoin = 'miter';
  globalAlpha = 1;
  font = '';
  textAlign = 'left';
  textBaseline = 'middle';
  readonly #out: string[] = [];
  #path = '';
  #x = 0;
  #y = 0;
  #groups = 0;
  #clips = 0;
  readonly #saved: Saved[] = [];

  /** As what pictures take. */
  get canvas(): CanvasRenderingContext2D {
    return this as unknown as CanvasRenderingContext2D;
  }

  get markup(): string {
    return this.#out.join('\n');
  }

  translate(x: number, y: number): void {
    this.#x += x;
    this.#y += y;
  }

  save(): void {
    this.#saved.push({ x: this.#x, y: this.#y, groups: this.#groups });
  }

  restore(): void {
    const before = this.#saved.pop();
    if (before === undefined) return;
    for (; this.#groups > before.groups; this.#groups -= 1) this.#out.push('</g>');
    [this.#x, this.#y] = [before.x, before.y];
  }

  beginPath(): void {
    this.#path = '';
  }

  moveTo(x: number, y: number): void {
    this.#path += `M${this.#at(x, y)}`;
  }

  lineTo(x: number, y: number): void {
    this.#path += `${this.#path === '' ? 'M' : 'L'}${this.#at(x, y)}`;
  }

  quadraticCurveTo(controlX: number, controlY: number, x: number, y: number): void {
    this.#path += `Q${this.#at(controlX, controlY)} ${this.#at(x, y)}`;
  }

  closePath(): void {
    this.#path += 'Z';
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.#path += `M${this.#at(x, y)}h${rounded(width)}v${rounded(height)}h${rounded(-width)}Z`;
  }

  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    const r = Math.min(radius, width / 2, height / 2);
    const [w, h] = [rounded(width - 2 * r), rounded(height - 2 * r)];
    const arc = (dx: number, dy: number): string => `a${rounded(r)} ${rounded(r)} 0 0 1 ${rounded(dx)} ${rounded(dy)}`;
    this.#path += `M${this.#at(x + r, y)}h${w}${arc(r, r)}v${h}${arc(-r, r)}h${rounded(2 * r - width)}${arc(-r, -r)}v${rounded(2 * r - height)}${arc(r, -r)}Z`;
  }

  arc(x: number, y: number, radius: number, from: number, to: number): void {
    const point = (angle: number): string => this.#at(x + Math.cos(angle) * radius, y + Math.sin(angle) * radius);
    const start = `${this.#path === '' ? 'M' : 'L'}${point(from)}`;
    const r = rounded(radius);
    if (Math.abs(to - from) >= Math.PI * 2 - 1e-6) {
      const middle = point(from + Math.PI);
      this.#path += `${start.replace('L', 'M')}A${r} ${r} 0 1 1 ${middle}A${r} ${r} 0 1 1 ${point(from)}`;
      return;
    }
    this.#path += `${start}A${r} ${r} 0 ${to - from > Math.PI ? 1 : 0} 1 ${point(to)}`;
  }

  ellipse(x: number, y: number, radiusX: number, radiusY: number): void {
    const [rx, ry] = [rounded(radiusX), rounded(radiusY)];
    this.#path += `M${this.#at(x - radiusX, y)}A${rx} ${ry} 0 1 1 ${this.#at(x + radiusX, y)}A${rx} ${ry} 0 1 1 ${this.#at(x - radiusX, y)}`;
  }

  fill(): void {
    if (this.#path !== '') this.#out.push(`<path d="${this.#path}" fill="${this.fillStyle}"${this.#opacity()}/>`);
  }

  stroke(): void {
    if (this.#path === '') return;
    const cap = this.lineCap === 'butt' ? '' : ` stroke-linecap="${this.lineCap}"`;
    this.#out.push(
      `<path d="${this.#path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${rounded(this.lineWidth)}"${cap}${this.#opacity()}/>`,
    );
  }

  clip(): void {
    this.#clips += 1;
    this.#groups += 1;
    const id = `clip${this.#clips}`;
    this.#out.push(`<clipPath id="${id}"><path d="${this.#path}"/></clipPath>`, `<g clip-path="url(#${id})">`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width <= 0 || height <= 0) return;
    this.#out.push(
      `<rect x="${rounded(x + this.#x)}" y="${rounded(y + this.#y)}" width="${rounded(width)}" height="${rounded(height)}" fill="${this.fillStyle}"${this.#opacity()}/>`,
    );
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.beginPath();
    this.rect(x, y, width, height);
    this.stroke();
  }

  /** An SVG is empty where nothing is drawn. */
  clearRect(): void {}

  setTransform(): void {}

  fillText(text: string, x: number, y: number): void {
    const anchor = { center: 'middle', right: 'end' }[this.textAlign] ?? 'start';
    const [, weight = '500', size = '11'] = /^(\d+) (\d+(?:\.\d+)?)px/.exec(this.font) ?? [];
    this.#out.push(
      `<text x="${rounded(x + this.#x)}" y="${rounded(y + this.#y)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" dominant-baseline="central" fill="${this.fillStyle}"${this.#opacity()}>${escaped(text)}</text>`,
    );
  }

  /** Roughly: an SVG is laid out by whoever shows it. */
  measureText(text: string): { readonly width: number } {
    return { width: text.length * 6 };
  }

  #at(x: number, y: number): string {
    return `${rounded(x + this.#x)} ${rounded(y + this.#y)}`;
  }

  #opacity(): string {
    return this.globalAlpha === 1 ? '' : ` opacity="${rounded(this.globalAlpha)}"`;
  }
}
