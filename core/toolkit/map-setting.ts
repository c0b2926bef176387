/** Maps as fields of the API, for the settings of every traffic engine that has them. */
import { objectSchema } from './setting-fields.js';
import { arePrintable, isSource, namedField, type NamedItem } from './setting-named.js';
import type { SettingCall } from '../contract/setting.js';
import type { Directive, NewDirective } from '../contract/tree.js';

interface MapValue {
  readonly valueFrom: string;
  readonly valueTo: string;
}
interface MapItem extends NamedItem {
  /** Absent: that of the existing map. */
  readonly keyFrom?: string;
  readonly keyTo: string;
  readonly values?: readonly MapValue[];
  readonly isVolatile?: boolean;
  readonly hostnames?: boolean;
}

const text = (description: string) => ({ type: 'string', maxLength: 8000, description });

/** The field `maps`: the `map` directives of the block of an engine. */
export const mapsField = namedField<MapItem>({
  field: 'maps',
  doc: 'Variables whose values depend on other texts (`map`).',
  noun: 'map',
  directive: 'map',
  item: objectSchema({
    'keyFrom?': text('Text that is looked up; it may have variables. Required for a map that is new.'),
    keyTo: text('The variable: `$name`.'),
    'values?': {
      type: 'array',
      items: objectSchema({
        valueFrom: text('A text; with `hostnames` also a mask; with ~ or ~* in front a regular expression; `default`: where none matches.'),
        valueTo: text('The value; it may have variables.'),
      }),
    },
    'isVolatile?': { type: 'boolean', description: 'Evaluated at each use.' },
    'hostnames?': { type: 'boolean', description: 'Texts may be masks of host names.' },
  }),
  comes: true,
  name: ({ keyTo }) => keyTo.toLowerCase(),
  show: shownMap,
  line(item, known, place, call) {
    const { keyFrom, keyTo, values = [], isVolatile = false, hostnames = false } = { ...(known && shownMap(known)), ...item };
    if (!/^\$\w+$/.test(keyTo)) call.reject(`${place}/keyTo`, 'must be a variable: $name');
    const hasSource = isSource(keyFrom, place, call);
    const entries = values.flatMap((value, i) => entry(value, `${place}/values/${i}`, call) ?? []);
    const block = [
      ...(hostnames ? [{ name: 'hostnames', words: [] }] : []),
      ...(isVolatile ? [{ name: 'volatile', words: [] }] : []),
      ...entries,
    ];
    return hasSource ? { name: 'map', words: [keyFrom, keyTo], block, pointer: `${call.pointer}${place}` } : undefined;
  },
});

function entry({ valueFrom, valueTo }: MapValue, place: string, call: SettingCall): NewDirective | undefined {
  if (!arePrintable({ valueFrom, valueTo }, place, call)) return undefined;
  // The one word that means something to the parser of the configuration, which reads what is kept of this change.
  if (valueFrom === 'include') call.reject(`${place}/valueFrom`, String.raw`the text itself is written "\include"`);
  return { name: valueFrom, words: [valueTo], pointer: `${call.pointer}${place}` };
}

function shownMap({ args: [from, to], block }: Directive): MapItem {
  const entries = [...(block ?? [])];
  const has = (word: string): boolean => entries.some(({ name, args }) => name === word && args.length === 0);
  return {
    keyFrom: from?.text ?? '',
    keyTo: to?.text ?? '',
    values: entries.flatMap(({ name, args: [value] }) => (value === undefined ? [] : { valueFrom: name, valueTo: value.text })),
    isVolatile: has('volatile'),
    hostnames: has('hostnames'),
  };
}
