/** Numbers as people read them. */

export function count(value) {
  if (!Number.isFinite(value)) return '-';
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

export function ratio(value) {
  if (!Number.isFinite(value)) return '-';
  return `${value >= 10 ? value.toFixed(1) : value.toFixed(2)}x`;
}

export const micros = (value) => (Number.isFinite(value) ? value.toFixed(value < 10 ? 2 : 1) : '-');

export const millis = (value) => (Number.isFinite(value) ? value.toFixed(value < 1 ? 3 : 2) : '-');

export const spread = ({ min, max }, format) => `${format(min)} - ${format(max)}`;

export const keysText = (keys) => (keys === 1 ? 'one key' : `${count(keys)} keys`);
