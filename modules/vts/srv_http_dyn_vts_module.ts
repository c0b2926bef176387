import { flag, number } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import type { Setting } from '../../core/contract/setting.js';
import { argumentField, listField, objectSchema } from '../../core/toolkit/setting-fields.js';
import { MOST_BUDGET } from './directives.js';

interface GroupLine {
  readonly key: string;
  readonly group?: string;
}

const DIRECTIVE = 'vts_filter_by_set_key';

const counted = argumentField('vts', flag(), 'Counts requests.');
const budget = argumentField('vts_filter_max_node', number({ min: 1, max: MOST_BUDGET }), 'Groups at most, over all names.');
const groups = listField<GroupLine>({
  field: 'groups',
  doc: 'Groups of requests (`vts_filter_by_set_key`).',
  item: objectSchema({
    key: {
      type: 'string',
      minLength: 1,
      maxLength: 1000,
      description: 'Requests of each value of the key are a group. It may have variables.',
    },
    'group?': { type: 'string', minLength: 1, maxLength: 1000, description: 'Name of these groups.' },
  }),
  directives: [DIRECTIVE],
  show: ({ args: [key, group] }) => ({ key: key?.text ?? '', ...(group !== undefined && { group: group.text }) }),
  line: ({ key, group }, place, { pointer }) => ({
    name: DIRECTIVE,
    words: group === undefined ? [key] : [key, group],
    pointer: `${pointer}${place}`,
  }),
});

const setting: Setting = {
  key: 'http_vts',
  summary: 'statistics',
  engine: 'http',
  global: [counted, budget, groups],
  server: [counted, groups],
  location: [counted, groups],
};

/** Which requests are counted for statistics, changed at run time: `/v1/config/http_vts`. */
@coreModule({ name: 'srv_http_dyn_vts_module', api: '1.2', settings: [setting] })
export class DynStatistics {}
