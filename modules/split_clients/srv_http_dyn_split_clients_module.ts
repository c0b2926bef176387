import { coreModule } from '../../core/contract/manifest.js';
import { objectSchema } from '../../core/toolkit/setting-fields.js';
import { arePrintable, isSource, namedField, type NamedItem } from '../../core/toolkit/setting-named.js';
import type { Setting } from '../../core/contract/setting.js';
import type { Directive } from '../../core/contract/tree.js';

interface Part {
  readonly percent: string;
  readonly value: string;
}
interface Split extends NamedItem {
  /** Absent: that of the existing split. */
  readonly keyFrom?: string;
  readonly keyTo: string;
  readonly values?: readonly Part[];
}

const PERCENT = {
  type: 'string',
  pattern: String.raw`^(\*|\d{1,3}(\.\d{1,2})?%)$`,
  description: 'a percentage such as 0.5%, or * for the rest',
};

const splits = namedField<Split>({
  field: 'splits',
  doc: 'Variables that split clients into groups (`split_clients`).',
  noun: 'split',
  directive: 'split_clients',
  item: objectSchema({
    'keyFrom?': {
      type: 'string',
      maxLength: 8000,
      description: 'Text whose hash chooses the value; it may have variables. Required for a split that is new.',
    },
    keyTo: { type: 'string', maxLength: 1000, description: 'The variable: `$name`.' },
    'values?': { type: 'array', items: objectSchema({ percent: PERCENT, value: { type: 'string', maxLength: 8000 } }) },
  }),
  comes: true,
  name: ({ keyTo }) => keyTo.toLowerCase(),
  show: shownSplit,
  line(item, known, place, call) {
    const { keyFrom, keyTo, values = [] } = { ...(known && shownSplit(known)), ...item };
    if (!/^\$\w+$/.test(keyTo)) call.reject(`${place}/keyTo`, 'must be a variable: $name');
    if (!isSource(keyFrom, place, call)) return undefined;
    const block = values.flatMap(({ percent, value }, i) => {
      const at = `${place}/values/${i}`;
      return arePrintable({ value }, at, call) ? { name: percent, words: [value], pointer: `${call.pointer}${at}` } : [];
    });
    return { name: 'split_clients', words: [keyFrom, keyTo], block, pointer: `${call.pointer}${place}` };
  },
});

function shownSplit({ args: [from, to], block }: Directive): Split {
  const values = Array.from(block ?? [], ({ name, args }): Part => ({ percent: name, value: args[0]?.text ?? '' }));
  return { keyFrom: from?.text ?? '', keyTo: to?.text ?? '', values };
}

const setting: Setting = {
  key: 'http_split_clients',
  summary: 'variables that split clients into groups',
  engine: 'http',
  global: [splits],
};

/** Groups of clients, changed at run time: `/v1/config/http_split_clients`. The directive is split_clients. */
@coreModule({ name: 'srv_http_dyn_split_clients_module', api: '1.2', settings: [setting] })
export class DynSplitClients {}
