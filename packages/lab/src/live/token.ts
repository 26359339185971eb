/** The token of a server that asks for one, kept as long as this tab is. */
const STORED_AS = 'sluice-token';

export function savedToken(): string {
  try {
    return sessionStorage.getItem(STORED_AS) ?? '';
  } catch {
    return '';
  }
}

/** Storage can be forbidden; then the token has to be typed again. */
export function saveToken(token: string): void {
  try {
    sessionStorage.setItem(STORED_AS, token);
  } catch {
    return;
  }
}

export function authorization(token: string): Record<string, string> {
  return token === '' ? {} : { authorization: `Bearer ${token}` };
}
