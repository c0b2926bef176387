import type { Events } from '../contract/events.js';

/** An event before it has its id, from a worker to the master. */
export interface EventMessage {
  readonly type: string;
  readonly subject: readonly string[];
  /** JSON. Undefined: the subject is gone, see {@link Events.forget}. */
  readonly data: string | undefined;
}

/** Topics of the bus that hold events begin with it. */
export const EVENT_TOPIC = 'srv/events';

const MAX_DATA = 16 * 1024;
const MAX_TYPE = 64;
const TYPE = /^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+$/;

type Published = Parameters<Events['publish']>;

/** @throws TypeError, RangeError as {@link Events.publish} */
export function eventMessage(type: Published[0], data: Published[1], subject: Published[2] = []): EventMessage {
  if (!TYPE.test(type) || type.length > MAX_TYPE) throw new TypeError(`the type of an event must be like "acme.pool.empty", not "${type}"`);
  const text = JSON.stringify(data);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_DATA) throw new RangeError(`the data of an event must be ${MAX_DATA} bytes at most, not ${bytes}`);
  return { type, subject, data: text };
}

/** Says that so many events were left out. */
export function droppedEvents(count: number): EventMessage {
  return eventMessage('events.dropped', { count });
}

/** `srv/events/member.state/shop/10.0.0.1:80`. Characters with a meaning in topics are percent-encoded. */
export function topicOf({ type, subject }: Pick<EventMessage, 'type' | 'subject'>): string {
  return [EVENT_TOPIC, type, ...subject.map(topicLevel)].join('/');
}

function topicLevel(text: string): string {
  // A topic of MQTT has no wildcards, no NUL, and is at most 64 KiB long (MQTT 3.1.1, 4.7).
  return text.slice(0, 1024).replace(/[%/+#\0-\x1f\x7f]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
