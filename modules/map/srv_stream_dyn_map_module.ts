import { coreModule } from '../../core/contract/manifest.js';
import { mapsField } from '../../core/toolkit/map-setting.js';
import type { Setting } from '../../core/contract/setting.js';

const setting: Setting = {
  key: 'stream_dyn_map',
  summary: 'variables of connections that depend on other texts',
  engine: 'stream',
  global: [mapsField],
};

/** Maps of stream servers, changed at run time: `/v1/config/stream_dyn_map`. The directive is map. */
@coreModule({ name: 'srv_stream_dyn_map_module', api: '1.2', settings: [setting] })
export class StreamDynMap {}
