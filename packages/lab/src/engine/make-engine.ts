/** An engine of each kind. */
import { BrowserEngine } from './browser-engine.ts';
import type { Engine, EngineKind } from './engine.ts';
import { ServerEngine } from './server-engine.ts';

export function makeEngine(kind: EngineKind): Engine {
  return kind === 'browser' ? new BrowserEngine() : new ServerEngine(kind);
}
