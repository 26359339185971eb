/** Numbers of the live view as people read them. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0';
  return perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString('en');
}

export function percent(share: number): string {
  return share > 0 && share < 0.001 ? '< 0.1 %' : `${(share * 100).toFixed(share === 0 || share === 1 ? 0 : 1)} %`;
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return '-';
  return `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`;
}
