import { coreModule } from '../../core/contract/manifest.js';
import { inPlaceOf } from '../../core/toolkit/setting-fields.js';
import { arePrintable } from '../../core/toolkit/setting-named.js';
import { fieldSet, type Setting } from '../../core/contract/setting.js';

/**
 * An upstream or an address, without variables: only a client that may change this setting names the server. Sockets of the machine are
 * reached through upstreams, whose members have rules of their own (`api_unix_members`).
 */
const ALLOWED = /^(?!unix:)[^\s/$?#]+$/i;

const target = fieldSet<{ readonly proxy_pass?: string }>({
  fields: { proxy_pass: { type: 'string', maxLength: 4000, description: 'Upstream or address that connections are passed to.' } },
  directives: ['proxy_pass'],
  read: ([line]) => (line === undefined ? {} : { proxy_pass: line.args[0]?.text ?? '' }),
  write({ proxy_pass: address }, [line], call) {
    if (address === null || address === undefined || !arePrintable({ proxy_pass: address }, '', call)) return [];
    if (!ALLOWED.test(address)) call.reject('/proxy_pass', 'must be an upstream, or an address with a port, without variables');
    return [inPlaceOf(line, { name: 'proxy_pass', words: [address], pointer: `${call.pointer}/proxy_pass` })];
  },
});

const setting: Setting = {
  key: 'stream_proxy_pass',
  summary: 'upstreams that stream servers pass connections to',
  engine: 'stream',
  server: [target],
};

/** Targets of `proxy_pass` in stream servers, changed at run time: `/v1/config/stream_proxy_pass`. */
@coreModule({ name: 'srv_stream_dyn_proxy_pass_module', api: '1.2', settings: [setting] })
export class StreamDynProxyPass {}
