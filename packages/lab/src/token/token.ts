/** The token of a server that asks for one, kept as long as this tab is; where storage is forbidden, as long as the page. */
const STORED_AS = 'sluice-token';
let latest = '';

export function savedToken(): string {
  try {
    return sessionStorage.getItem(STORED_AS) ?? latest;
  } catch {
    return latest;
  }
}

export function saveToken(token: string): void {
  latest = token;
  try {
    sessionStorage.setItem(STORED_AS, token);
  } catch {
    return;
  }
}

export function authorization(token: string): Record<string, string> {
  return token === '' ? {} : { authorization: `Bearer ${token}` };
}
