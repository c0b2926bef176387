import { ConfReader, ownDirective } from '../config/conf.js';
import type { ArgContext } from '../module/spec.js';
import type { Block } from '../module/tree.js';
import { eventsDirectives, mainDirectives, type EventsConf, type MainConf } from './core-directives.js';

/** What the kernel itself is told by the configuration. */
export interface Settings {
  readonly main: MainConf;
  readonly events: EventsConf;
}

const MAIN = new ConfReader(mainDirectives);
const EVENTS = new ConfReader(eventsDirectives);

/** Cheap: values are parsed when they are first asked for. */
export function readSettings(root: Block, args: ArgContext): Settings {
  const events = ownDirective(root, 'events')?.block;
  return {
    main: MAIN.read({ context: 'main', block: root }, undefined, args),
    events: EVENTS.read({ context: 'events', block: events }, undefined, args),
  };
}
