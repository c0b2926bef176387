/** proxy_cookie_domain, proxy_cookie_path and proxy_cookie_flags: Set-Cookie of members as clients get it. */
import type { HttpRequest, Template } from '../../core/contract/http.js';
import type { ExchangePlan } from '../../core/contract/exchanges.js';
import type { Log } from '../../core/contract/log.js';
import type { ProxyScope } from './directives.js';
import { replacementRule, type ReplacementRule } from './redirect.js';

/** Text or pattern for an attribute, or the name of a cookie. */
type Word = Template | RegExp;

interface FlagRule {
  readonly cookie: Word;
  readonly flags: readonly Template[];
}

/** One attribute, as it is written; without a value there is no equals sign. */
interface Attribute {
  name: string;
  value: string | undefined;
}

const SAME_SITE: Readonly<Record<string, string>> = { strict: 'Strict', lax: 'Lax', none: 'None' };

/** Undefined: nothing is to be changed. */
export function cookieRewriter({ conf }: ProxyScope, log: Log): ExchangePlan['rewriteCookie'] {
  const domains = conf.proxy_cookie_domain.flatMap(({ from, to }) => (to === undefined ? [] : [domainRule(from, to)]));
  const paths = conf.proxy_cookie_path.flatMap(({ from, to }) => (to === undefined ? [] : [replacementRule(from, to)]));
  const flags = conf.proxy_cookie_flags.filter((rule) => rule.flags.length > 0);
  if (domains.length + paths.length + flags.length === 0) return undefined;
  return (cookie, request) => {
    const [pair = '', ...rest] = cookie.split(';');
    const name = nameOf(pair);
    if (name === undefined) return undefined;
    const attributes = rest.map(parseAttribute);
    const isMoved = [applyRules(attributes, 'domain', domains, request), applyRules(attributes, 'path', paths, request)].includes(true);
    const rule = flags.find(({ cookie: word }) => isNamed(word, name, request));
    if (!isMoved && rule === undefined) return undefined;
    const result = rule === undefined ? attributes : withFlags(attributes, rule, request, log);
    return [pair.trim(), ...result.map(printAttribute)].join('; ');
  };
}

/** Undefined: it is not a cookie. */
function nameOf(pair: string): string | undefined {
  const equals = pair.indexOf('=');
  return equals < 0 ? undefined : pair.slice(0, equals).trim();
}

function parseAttribute(text: string): Attribute {
  const equals = text.indexOf('=');
  if (equals < 0) return { name: text.trim(), value: undefined };
  return { name: text.slice(0, equals).trim(), value: text.slice(equals + 1).trim() };
}

function printAttribute({ name, value }: Attribute): string {
  return value === undefined ? name : `${name}=${value}`;
}

/** The first rule that fits an attribute changes it. @returns whether one did */
function applyRules(attributes: readonly Attribute[], name: string, rules: readonly ReplacementRule[], request: HttpRequest): boolean {
  let isChanged = false;
  for (const attribute of attributes) {
    if (attribute.value === undefined || attribute.name.toLowerCase() !== name) continue;
    for (const rule of rules) {
      const value = rule(attribute.value, request);
      if (value === undefined) continue;
      attribute.value = value;
      isChanged = true;
      break;
    }
  }
  return isChanged;
}

/** Compared in any case and without the dot in front, which stays if the cookie has it. */
function domainRule(from: Word, to: Template): ReplacementRule {
  if (from instanceof RegExp) return replacementRule(from, to);
  return (value, request) => {
    const dot = value.startsWith('.') ? '.' : '';
    if (value.slice(dot.length).toLowerCase() !== withoutDot(from.of(request)).toLowerCase()) return undefined;
    return dot + withoutDot(to.of(request));
  };
}

function withoutDot(domain: string): string {
  return domain.startsWith('.') ? domain.slice(1) : domain;
}

function isNamed(word: Word, name: string, request: HttpRequest): boolean {
  return word instanceof RegExp ? word.test(name) : word.of(request).toLowerCase() === name.toLowerCase();
}

function withFlags(attributes: readonly Attribute[], { flags }: FlagRule, request: HttpRequest, log: Log): readonly Attribute[] {
  let result = attributes;
  const wanted = new Map<string, string | undefined>();
  for (const template of flags) {
    const [, isOff, name = '', value] = /^(no)?(secure|httponly|samesite)(?:=(strict|lax|none))?$/i.exec(template.of(request)) ?? [];
    const flag = name.toLowerCase();
    if (flag === '' || (flag === 'samesite' && isOff === undefined) !== (value !== undefined))
      log.write('error', `invalid proxy_cookie_flags flag "${template.of(request)}"`, request);
    else if (isOff === undefined) wanted.set(flag, value?.toLowerCase());
    else {
      wanted.delete(flag);
      result = result.filter((attribute) => attribute.name.toLowerCase() !== flag);
    }
  }
  return addFlags(result, wanted);
}

/** A cookie has each flag once: what it has already stays where it is, in the order of nginx what it has not is added. */
function addFlags(attributes: readonly Attribute[], wanted: ReadonlyMap<string, string | undefined>): readonly Attribute[] {
  const result = [...attributes];
  const has = (flag: string): Attribute | undefined => result.find(({ name }) => name.toLowerCase() === flag);
  if (wanted.has('secure') && has('secure') === undefined) result.push({ name: 'Secure', value: undefined });
  if (wanted.has('httponly') && has('httponly') === undefined) result.push({ name: 'HttpOnly', value: undefined });
  const policy = wanted.get('samesite');
  if (policy === undefined) return result;
  const before = has('samesite');
  if (before?.value?.toLowerCase() === policy) return result;
  const attribute = { name: 'SameSite', value: SAME_SITE[policy] };
  if (before === undefined) result.push(attribute);
  else result[result.indexOf(before)] = attribute;
  return result;
}
