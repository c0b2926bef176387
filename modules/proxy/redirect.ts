import type { HttpRequest, Scope, Template } from '../../core/contract/http.js';
import type { ExchangePlan } from '../../core/contract/exchanges.js';
import type { Directive } from '../../core/contract/tree.js';
import type { ProxyScope } from './directives.js';
import type { ProxyTarget } from './target.js';

/** Gives the new text of a Location, or of an attribute of a cookie, that it fits. */
export type ReplacementRule = (text: string, request: HttpRequest) => string | undefined;

export function rewriter(scope: ProxyScope, { redirect }: ProxyTarget): ExchangePlan['rewriteLocation'] {
  const rules: ReplacementRule[] = [];
  const lines = scope.conf.proxy_redirect.length === 0 ? [undefined] : scope.conf.proxy_redirect;
  for (const line of lines) {
    if (line?.to !== undefined) rules.push(replacementRule(line.from, line.to));
    else if (isWord(line?.from, 'off')) return undefined;
    else if (redirect !== undefined) rules.push(constantRule(redirect));
    else if (line !== undefined)
      scope.fail('"proxy_redirect default" cannot be used with "proxy_pass" directive with variables', 'proxy_redirect');
  }
  // Most have one or none.
  if (rules.length < 2) return rules[0];
  return (location, request) => {
    for (const rule of rules) {
      const rewritten = rule(location, request);
      if (rewritten !== undefined) return rewritten;
    }
    return undefined;
  };
}

function isWord(word: Template | RegExp | undefined, text: string): boolean {
  return word !== undefined && 'constant' in word && word.constant === text;
}

/** Errors that only show when the lines of a block are seen together. */
export function assertRedirects(scope: ProxyScope): void {
  const level = levelOf(scope, 'proxy_redirect');
  const lines = [...(level?.directive?.block?.named('proxy_redirect') ?? [])];
  for (const [at, line] of lines.entries()) {
    const [word = '', replacement] = line.args.map(({ text }) => text);
    if (at > 0 && (isOff(line) || lines.slice(0, at).some(isOff))) scope.fail('"proxy_redirect" directive is duplicate', line);
    if (replacement !== undefined || word === 'off') continue;
    if (word !== 'default') scope.fail(`invalid parameter "${word}"`, line, 'default, off, or what to replace and by what');
    if (level === undefined || !standsBehindTarget(line, level))
      scope.fail('"proxy_redirect default" should be placed after the "proxy_pass" directive', line);
  }
}

/** The block whose lines are active. */
function levelOf(scope: ProxyScope, name: string): Scope | undefined {
  let level: Scope | undefined = scope;
  while (level !== undefined && !level.own(name)) level = level.parent;
  return level;
}

const COOKIE_RULES = ['proxy_cookie_domain', 'proxy_cookie_flags', 'proxy_cookie_path'] as const;

/** `off` is the only line of its block, and the only one without a replacement. */
export function assertCookieRules(scope: ProxyScope): void {
  for (const name of COOKIE_RULES) {
    const lines = [...(levelOf(scope, name)?.directive?.block?.named(name) ?? [])];
    for (const [at, line] of lines.entries()) {
      if (at > 0 && (isOff(line) || lines.slice(0, at).some(isOff))) scope.fail(`"${name}" directive is duplicate`, line);
      if (line.args.length === 1 && !isOff(line))
        scope.fail(`invalid parameter "${line.args[0]?.text}"`, line, 'off, or what to change and how');
    }
  }
}

function isOff({ args }: Directive): boolean {
  return args.length === 1 && args[0]?.text === 'off';
}

function standsBehindTarget(line: Directive, level: Scope): boolean {
  if (!level.own('proxy_pass')) return false;
  for (const directive of level.directive?.block ?? []) {
    if (directive.name === 'proxy_pass') return true;
    if (directive === line) return false;
  }
  return false;
}

/** A prefix is replaced, or all of what a regular expression matches. */
export function replacementRule(from: Template | RegExp, to: Template): ReplacementRule {
  return from instanceof RegExp ? patternRule(from, to) : prefixRule(from, to);
}

function prefixRule(from: Template, to: Template): ReplacementRule {
  return (location, request) => {
    const prefix = from.of(request);
    return location.startsWith(prefix) ? to.of(request) + location.slice(prefix.length) : undefined;
  };
}

function constantRule({ from, to }: NonNullable<ProxyTarget['redirect']>): ReplacementRule {
  return (location) => (location.startsWith(from) ? to + location.slice(from.length) : undefined);
}

/** The replacement stands for the whole text, and may use what was captured. */
function patternRule(pattern: RegExp, to: Template): ReplacementRule {
  return (location, request) => {
    const captures = pattern.exec(location);
    if (captures === null) return undefined;
    request.captures = captures;
    return to.of(request);
  };
}
