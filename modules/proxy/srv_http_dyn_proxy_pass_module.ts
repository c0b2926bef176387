import { coreModule } from '../../core/contract/manifest.js';
import { inPlaceOf } from '../../core/toolkit/setting-fields.js';
import { arePrintable } from '../../core/toolkit/setting-named.js';
import { fieldSet, type Setting } from '../../core/contract/setting.js';

/**
 * Scheme and server, without variables: only a client that may change this setting names the server. Sockets of the machine are
 * reached through upstreams, whose members have rules of their own (`api_unix_members`).
 */
const ALLOWED = /^https?:\/\/(?!unix:)[^\s/$?#]+(?:\/.*)?$/is;

const target = fieldSet<{ readonly proxy_pass?: string }>({
  fields: { proxy_pass: { type: 'string', maxLength: 4000, description: 'Address or upstream that requests are passed to.' } },
  directives: ['proxy_pass'],
  read: ([line]) => (line === undefined ? {} : { proxy_pass: line.args[0]?.text ?? '' }),
  write({ proxy_pass: url }, [line], call) {
    if (url === null || url === undefined || !arePrintable({ proxy_pass: url }, '', call)) return [];
    if (!ALLOWED.test(url)) call.reject('/proxy_pass', 'must be http:// or https:// with an upstream or an address, without variables');
    return [inPlaceOf(line, { name: 'proxy_pass', words: [url], pointer: `${call.pointer}/proxy_pass` })];
  },
});

const setting: Setting = {
  key: 'proxy_pass',
  summary: 'upstreams that locations pass requests to',
  engine: 'http',
  location: [target],
};

/** Targets of `proxy_pass` in locations, changed at run time: `/v1/config/proxy_pass`. */
@coreModule({ name: 'srv_http_dyn_proxy_pass_module', api: '1.2', settings: [setting] })
export class DynProxyPass {}
