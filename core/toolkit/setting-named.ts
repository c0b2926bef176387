/** Sets of lines that have names: a call changes the lines that it names, and leaves the others. */
import { inPlaceOf } from './setting-fields.js';
import type { FieldSet, SettingCall, SettingLine } from '../contract/setting.js';
import type { JsonSchema } from '../contract/spec.js';
import type { Directive, NewDirective } from '../contract/tree.js';

export interface NamedItem {
  /** `add`: it must be new; `del`: it goes; absent: it comes, or is changed. */
  readonly type?: 'add' | 'del';
}

export interface NamedField<T extends NamedItem> {
  /** Name of the field. */
  readonly field: string;
  readonly doc: string;
  /** Name of one of them: `map`. */
  readonly noun: string;
  readonly directive: string;
  /** Schema of an item without its `type`. */
  readonly item: JsonSchema;
  /** Lines can be added and removed. Otherwise they are changed only. */
  readonly comes: boolean;
  readonly show: (line: Directive) => T;
  /** Identity of a line. */
  readonly name: (item: T) => string;
  /**
   * The line that an item stands for. Undefined: it was rejected.
   * @param known the line of that name that is there
   * @param place JSON pointer from the block on: `/maps/2`
   */
  readonly line: (item: T, known: Directive | undefined, place: string, call: SettingCall) => NewDirective | undefined;
}

const TYPE: JsonSchema = {
  type: 'string',
  enum: ['add', 'del'],
  description: 'add: it must be new; del: it is removed. Absent: it is set.',
};

/** A list of lines with names. Lines that the list does not name stay. */
export function namedField<T extends NamedItem>(of: NamedField<T>): FieldSet {
  const { field, directive, item, doc, comes } = of;
  const properties = item['properties'] as Readonly<Record<string, JsonSchema>>;
  const items = comes ? { ...item, properties: { ...properties, type: TYPE } } : item;
  return {
    fields: { [field]: { type: 'array', items, description: doc } },
    directives: [directive],
    read: (lines) => (lines.length === 0 ? {} : { [field]: lines.map(of.show) }),
    write: ({ [field]: value }, lines, call) => {
      if (value === null) call.reject(`/${field}`, 'must be an array of what is to be changed');
      return changedLines((value ?? []) as readonly T[], lines, of, call);
    },
  };
}

function changedLines<T extends NamedItem>(
  items: readonly T[],
  lines: readonly Directive[],
  of: NamedField<T>,
  call: SettingCall,
): readonly SettingLine[] {
  const known = new Map(lines.map((line) => [of.name(of.show(line)), line]));
  const changed = new Map<Directive, readonly SettingLine[]>();
  const added: SettingLine[] = [];
  const names = new Set<string>();
  for (const [i, item] of items.entries()) {
    const name = of.name(item);
    const place = `/${of.field}/${i}`;
    const line = known.get(name);
    const error = names.has(name) ? `${of.noun} "${name}" is named twice` : nameError(item, name, line, of);
    names.add(name);
    if (error !== undefined) call.reject(place, error);
    else if (item.type === 'del' && line !== undefined) changed.set(line, []);
    else {
      const by = of.line(item, line, place, call);
      if (by === undefined) continue;
      if (line === undefined) added.push(by);
      else changed.set(line, [inPlaceOf(line, by)]);
    }
  }
  return [...lines.flatMap((line) => changed.get(line) ?? line), ...added];
}

function nameError<T extends NamedItem>(
  { type }: T,
  name: string,
  line: Directive | undefined,
  { noun, comes }: NamedField<T>,
): string | undefined {
  if (line !== undefined && type === 'add') return `${noun} "${name}" exists`;
  if (line === undefined && (type === 'del' || !comes)) return `there is no ${noun} "${name}"`;
  return undefined;
}

/** Characters that would end a line of a log or a header. */
const CONTROLS = /[\u0000-\u001f\u007f]/;

/** True if texts are free of control characters. Others are rejected. @param texts by the place of each, from `place` on */
export function arePrintable(texts: Readonly<Record<string, string | undefined>>, place: string, call: SettingCall): boolean {
  const wrong = Object.entries(texts).filter(([, text]) => text !== undefined && CONTROLS.test(text));
  for (const [name] of wrong) call.reject(`${place}/${name}`, 'must be text without control characters');
  return wrong.length === 0;
}

/** True if the `keyFrom` of a variable is a text for a line. Otherwise it is rejected. @param keyFrom undefined: neither the call nor the configuration has one */
export function isSource(keyFrom: string | undefined, place: string, call: SettingCall): keyFrom is string {
  if (keyFrom !== undefined) return arePrintable({ keyFrom }, place, call);
  call.reject(`${place}/keyFrom`, 'is required');
  return false;
}
