/** A change of the tree as text for people, without private keys: dry runs, events, reload logs. */
import type { Directive } from '../contract/tree.js';
import { exactDirective, shownDirective, shownHead } from '../contract/print.js';
import { ROOT_ID, sameHead, type DirectiveData, type TreeOperation } from './operations.js';
import { shownText } from '../contract/secrets.js';
import { withShortCertificates } from './shown-certificates.js';
import type { ContextName } from '../contract/spec.js';
import type { SpecRegistry } from './registry.js';
import type { Tree } from './tree.js';

/**
 * Lines such as
 *
 *     http / upstream demo
 *     + server 10.0.0.1:80;
 *     - server 10.0.0.2:80;
 *
 * A line without a sign names the block that the following ones are in; `main` is the top level.
 * @param operations what turned `before` into `after`
 * @param specs how blocks without arguments are called that a block may have several of (`server`)
 */
export function describeChange(before: Tree, after: Tree, operations: readonly TreeOperation[], specs: SpecRegistry): string[] {
  const text = new ChangeText(before, after, specs);
  for (const operation of operations) text.operation(operation);
  return text.lines;
}

const REORDERED = '# the order of directives changed';

type Part = Directive | DirectiveData;

class ChangeText {
  readonly lines: string[] = [];
  private place: string | undefined;

  constructor(
    private readonly before: Tree,
    private readonly after: Tree,
    private readonly specs: SpecRegistry,
  ) {}

  operation(operation: TreeOperation): void {
    switch (operation.op) {
      case 'add':
        this.part('+', operation.directive, this.pathTo(operation.parent));
        break;
      case 'move':
        this.line(REORDERED, this.pathTo(this.after.parentOf(operation.id)?.id ?? ROOT_ID));
        break;
      case 'remove': {
        const old = this.before.byId(operation.id);
        if (old !== undefined) this.part('-', old, this.pathTo(this.before.parentOf(old.id)?.id ?? ROOT_ID));
        break;
      }
      case 'replace': {
        const old = this.before.byId(operation.directive.id);
        const path = this.pathTo((old && this.before.parentOf(old.id)?.id) ?? ROOT_ID);
        if (old === undefined) this.part('+', operation.directive, path);
        else this.changed(old, operation.directive, path);
        break;
      }
      case 'root':
        this.block(this.before.root, operation.block, []);
    }
  }

  private pathTo(id: number): readonly string[] {
    const path = this.after.pathOf(id);
    let context: ContextName | undefined = 'main';
    return (path.length > 0 ? path : this.before.pathOf(id)).map((directive) => {
      const shown = this.name(directive, context);
      context = context && this.specs.contextInside(context, directive.name);
      return shown;
    });
  }

  private name(directive: Directive, context: ContextName | undefined): string {
    const spec = context && directive.args.length === 0 ? this.specs.find(context, directive.name)?.spec : undefined;
    const identity = spec?.identity === undefined ? '' : this.specs.identityOf(directive, spec);
    return identity === '' ? shownHead(directive) : shownText(`${directive.name} ${identity}`);
  }

  private changed(old: Part, now: Part, path: readonly string[]): void {
    if (sameHead(old, now) && old.block !== undefined && now.block !== undefined) {
      this.block(old.block, now.block, [...path, shownHead(now)]);
    } else if (exactDirective(old) !== exactDirective(now)) {
      this.part('-', old, path);
      this.part('+', now, path);
    }
  }

  private block(old: Iterable<Part>, now: Iterable<Part>, path: readonly string[]): void {
    const oldById = new Map(Array.from(old, (directive) => [directive.id, directive]));
    const nowIds = new Set(Array.from(now, ({ id }) => id));
    for (const directive of oldById.values()) if (!nowIds.has(directive.id)) this.part('-', directive, path);
    for (const directive of now) {
      const before = oldById.get(directive.id);
      if (before === undefined) this.part('+', directive, path);
      else this.changed(before, directive, path);
    }
    const kept = [...oldById.keys()].filter((id) => nowIds.has(id));
    const order = Array.from(now, ({ id }) => id).filter((id) => oldById.has(id));
    if (kept.some((id, i) => id !== order[i])) this.line(REORDERED, path);
  }

  private part(sign: '+' | '-', part: Part, path: readonly string[]): void {
    for (const line of withShortCertificates(shownDirective(part)).trimEnd().split('\n')) this.line(`${sign} ${line}`, path);
  }

  private line(line: string, path: readonly string[]): void {
    const place = path.length === 0 ? 'main' : path.join(' / ');
    if (line === REORDERED && this.lines.at(-1) === line && place === this.place) return;
    if (place !== this.place) this.lines.push(place);
    this.place = place;
    this.lines.push(line);
  }
}
