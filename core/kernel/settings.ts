import { ConfReader } from '../config/conf.js';
import type { ArgContext } from '../contract/spec.js';
import type { Block } from '../contract/tree.js';
import { eventsDirectives, mainDirectives, type EventsConf, type MainConf } from './core-directives.js';

/** Settings of the kernel itself. */
export interface KernelSettings {
  readonly main: MainConf;
  readonly events: EventsConf;
}

const MAIN = new ConfReader(mainDirectives);
/** Without an `events` block. */
const EVENTS = new ConfReader(eventsDirectives);

/** Cheap: values are parsed when they are first asked for. */
export function readSettings(root: Block, args: ArgContext): KernelSettings {
  const main = MAIN.read({ context: 'main', block: root }, undefined, args);
  return { main, events: main.events?.block ?? EVENTS.read({ context: 'events', block: undefined }, undefined, args) };
}
