import type { HttpRequest, Scope, Template } from '../../core/module/http.js';
import type { ExchangePlan } from '../../core/module/services.js';
import type { Directive } from '../../core/module/tree.js';
import type { ProxyScope } from './directives.js';
import { constant, type Target } from './target.js';

/** Gives the new text of a Location that it fits. */
type RedirectRule = (location: string, request: HttpRequest) => string | undefined;

export function rewriter(scope: ProxyScope, { redirect }: Target): ExchangePlan['rewriteLocation'] {
  const rules: RedirectRule[] = [];
  const lines = scope.conf.proxy_redirect.length === 0 ? [undefined] : scope.conf.proxy_redirect;
  for (const line of lines) {
    if (line?.to !== undefined) rules.push(redirectRule(line.from, line.to));
    else if (isWord(line?.from, 'off')) return undefined;
    else if (redirect !== undefined) rules.push(prefixRule(constant(redirect.from), constant(redirect.to)));
    else if (line !== undefined)
      scope.fail('"proxy_redirect default" cannot be used with "proxy_pass" directive with variables', 'proxy_redirect');
  }
  if (rules.length === 0) return undefined;
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

/** What only shows when the lines of a block are seen together. */
export function assertRedirects(scope: ProxyScope): void {
  let level: Scope | undefined = scope;
  while (level !== undefined && !level.own('proxy_redirect')) level = level.parent;
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

function redirectRule(from: Template | RegExp, to: Template): RedirectRule {
  return from instanceof RegExp ? patternRule(from, to) : prefixRule(from, to);
}

function prefixRule(from: Template, to: Template): RedirectRule {
  return (location, request) => {
    const prefix = from.of(request);
    return location.startsWith(prefix) ? to.of(request) + location.slice(prefix.length) : undefined;
  };
}

/** The replacement stands for the whole text, and may use what was captured. */
function patternRule(pattern: RegExp, to: Template): RedirectRule {
  return (location, request) => {
    const captures = pattern.exec(location);
    if (captures === null) return undefined;
    request.captures = captures;
    return to.of(request);
  };
}
