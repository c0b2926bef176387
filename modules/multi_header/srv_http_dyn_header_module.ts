import { coreModule } from '../../core/contract/manifest.js';
import { listField, objectSchema } from '../../core/toolkit/setting-fields.js';
import type { Setting, SettingCall } from '../../core/contract/setting.js';
import type { Directive, NewDirective } from '../../core/contract/tree.js';

interface Header {
  readonly key: string;
  readonly value: string;
  readonly always?: boolean;
}

/** The name of a field (RFC 9110, 5.1) without a dollar, which would begin a variable. */
const KEY = /^[A-Za-z0-9!#%&'*+.^_`|~-]+$/;
/** Characters that would end the line of the field. */
const CONTROLS = /[\u0000-\u001f\u007f]/;

const headers = listField<Header>({
  field: 'headers',
  doc: 'Fields that are added to responses (`add_header`).',
  item: objectSchema({
    key: { type: 'string', minLength: 1, description: 'Name of the field.' },
    value: { type: 'string', maxLength: 8000, description: 'It may have variables.' },
    'always?': { type: 'boolean', description: 'Whatever the status of the response is.' },
  }),
  directives: ['add_header'],
  show({ args: [key, value, ...others] }: Directive) {
    const always = others.some(({ text }) => text === 'always');
    return { key: key?.text ?? '', value: value?.text ?? '', always };
  },
  line({ key, value, always = false }: Header, place: string, call: SettingCall): NewDirective | undefined {
    if (!KEY.test(key)) call.reject(`${place}/key`, 'must be the name of a header field, without variables');
    else if (CONTROLS.test(value)) call.reject(`${place}/value`, 'must be text without control characters');
    else return { name: 'add_header', words: always ? [key, value, 'always'] : [key, value], pointer: `${call.pointer}${place}` };
    return undefined;
  },
});

const setting: Setting = {
  key: 'http_dyn_header',
  summary: 'fields added to responses',
  engine: 'http',
  server: [headers],
  location: [headers],
};

/** Header fields of responses, changed at run time: `/v1/config/http_dyn_header`. The directive is add_header; add_more_header is not touched. */
@coreModule({ name: 'srv_http_dyn_header_module', api: '1.2', settings: [setting] })
export class DynHeader {}
