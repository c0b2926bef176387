import { coreModule } from '../../core/contract/manifest.js';
import { mapsField } from '../../core/toolkit/map-setting.js';
import type { Setting } from '../../core/contract/setting.js';

const setting: Setting = {
  key: 'http_dyn_map',
  summary: 'variables that depend on other texts',
  engine: 'http',
  global: [mapsField],
};

/** Maps, changed at run time: `/v1/config/http_dyn_map`. The directive is map. */
@coreModule({ name: 'srv_http_dyn_map_module', api: '1.2', settings: [setting] })
export class DynMap {}
