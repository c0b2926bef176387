import type { Call } from '../../contract/control.js';
import type { DataPlane } from '../../contract/data-plane.js';
import type { Setting } from '../../contract/setting.js';
import { readReply, writeReply, type Versioned } from '../../contract/versioned.js';
import type { Route } from '../route-table.js';
import { StrictSchema } from '../schema.js';
import { changeAction, listAction } from './setting-actions.js';
import { changeSchemas, listSchemas } from './setting-schemas.js';

/** The first part of the paths of all settings, below `/v1/`. */
const SETTINGS = 'config';

/**
 * The control plane's half of the calls of a setting.
 * @param module name of the module that declares it
 */
export function settingRoutes(setting: Setting, module: string, dataPlane: Pick<DataPlane, 'call'>): readonly Route[] {
  const { key } = setting;
  const place = { module, dataModule: module, key, path: `/v1/${SETTINGS}/${key}` };
  const [list, change] = [listSchemas(setting), changeSchemas(setting)];
  return [
    {
      ...place,
      verb: 'GET',
      schemas: list,
      body: undefined,
      query: list.query && new StrictSchema(list.query),
      handle: async ({ query, ...call }: Call) => readReply(await dataPlane.call<Versioned>(listAction(setting), query, call)),
    },
    {
      ...place,
      verb: 'PUT',
      schemas: change,
      body: change.body && new StrictSchema(change.body),
      query: undefined,
      handle: async ({ body, ...call }: Call) => writeReply(call, await dataPlane.call<Versioned>(changeAction(setting), body, call)),
    },
  ];
}
