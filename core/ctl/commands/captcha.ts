import { defined, done, type Arguments, type Command, type CommandCall, type Operand, type Option } from '../command.js';
import { usageFailure } from '../failure.js';
import { table, type Row } from '../table.js';
import { ADDRESS, NAME } from './blocks.js';

const LOCATION: Operand = { name: 'LOCATION', about: 'as the configuration names it; without it, the server itself', optional: true };
const SETTINGS: readonly Option[] = [
  { name: 'on', about: 'clients above the rate are challenged' },
  { name: 'off', about: 'no challenges' },
  { name: 'zone', value: 'ZONE', about: 'zone of the rate, which the configuration file declares' },
  { name: 'rate', value: 'N', about: 'requests per second and key; with --zone' },
  { name: 'verified', value: 'N', about: 'requests per second with the cookie of a solution; with --rate' },
  { name: 'mode', value: 'MODE', field: 'captcha_mode', about: 'auto, image or pow' },
  { name: 'expire', value: 'TIME', field: 'captcha_expire', about: 'how long a solution is valid' },
];
const NOTHING: Row = { captcha: null, captcha_limit_rate: null, captcha_mode: null, captcha_expire: null };

export const CAPTCHA: readonly Command[] = [
  {
    words: 'captcha list',
    about: 'list the zones of challenges with their figures',
    call: () => ({ method: 'GET', path: '/v1/captcha' }),
    show: table([
      { title: 'ZONE', field: 'zone' },
      { title: 'KEYS', field: 'keys' },
      { title: 'EVICTED', field: 'evicted' },
      { title: 'CHALLENGED', field: 'challenged' },
      { title: 'VERIFIED', field: 'verified' },
      { title: 'RIGHT', field: 'right' },
      { title: 'WRONG', field: 'wrong' },
      { title: 'REJECTED', field: 'rejected' },
    ]),
  },
  {
    words: 'captcha set',
    about: 'change challenges of a server or location',
    operands: [ADDRESS, LOCATION],
    options: [NAME, ...SETTINGS],
    writes: true,
    notes: ['Options that are left out change nothing.'],
    call: (args) => settingCall(args, fieldsOf(args)),
    show: done,
  },
  {
    words: 'captcha reset',
    about: 'remove the settings of a server or location; those around it apply',
    operands: [ADDRESS, LOCATION],
    options: [NAME],
    writes: true,
    call: (args) => settingCall(args, NOTHING),
    show: done,
  },
];

function settingCall(args: Arguments, fields: Row): CommandCall {
  const [location, name] = [args.optional('LOCATION'), args.optional('name')];
  const server = defined<unknown>({ listens: [args.operand('ADDRESS')], serverNames: name?.split(/\s+/) });
  const settings = location === undefined ? fields : { locations: [{ location, ...fields }] };
  return { method: 'PUT', path: '/v1/config/http_dyn_captcha', body: { servers: [{ ...server, ...settings }] } };
}

/** @throws Failure if the options contradict each other, or there are none */
function fieldsOf(args: Arguments): Row {
  const [zone, rate, verified] = [args.optional('zone'), args.optional('rate'), args.optional('verified')];
  if (args.flag('on') && args.flag('off')) throw usageFailure('--on and --off contradict each other');
  if ((zone === undefined) !== (rate === undefined)) throw usageFailure('--zone and --rate are needed together');
  if (verified !== undefined && rate === undefined) throw usageFailure('--verified needs --rate');
  const limit = { zone, rate: Number(rate), ...(verified !== undefined && { verified: Number(verified) }) };
  const fields = {
    ...args.fields(),
    ...((args.flag('on') || args.flag('off')) && { captcha: args.flag('on') }),
    ...(rate !== undefined && { captcha_limit_rate: limit }),
  };
  if (Object.keys(fields).length === 0) throw usageFailure('there is nothing to change', '"srvctl help captcha set" shows the options');
  return fields;
}
