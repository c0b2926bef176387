/** The text of docs/directives.md. */
import { Signature, synopsis } from '../../core/config/arguments.js';
import type { DirectiveSpec, Inherit } from '../../core/module/spec.js';
import type { DocumentedModule, Loading } from './all-modules.js';

const INTRODUCTION = `# Directives

<!-- Made by "node dist/tools/docs/directives.js --write" from the specs in core/ and modules/. Change those, not this. -->

Every directive of this version: how it is written, where it may stand, what holds without it. Where nginx has a directive of the same name,
it has the same meaning and units; the sentence here says what it does, nginx's documentation says more. How values of outer levels are taken
over, and what a size, a time or a path looks like, is in [configuration.md](configuration.md).

`;

const LOADING: Readonly<Record<Loading, (module: DocumentedModule) => string>> = {
  core: () => 'Part of the core.',
  default: ({ declaration }) => `Loaded by default${planeOf(declaration.manifest.plane)}.`,
  load_module: ({ name, declaration }) => `Loaded by \`load_module modules/${name}.so;\`${planeOf(declaration.manifest.plane)}.`,
  helper: ({ name, declaration }) => `Named by \`helper ${declaration.manifest.helper ?? ''} modules/${name}.so <configuration>;\`.`,
};

function planeOf(plane: string | undefined): string {
  if (plane === 'data') return ', in the data plane (srv.conf)';
  return plane === 'control' ? ', in the control plane (srv_ctrl.conf)' : '';
}

type Specs = readonly (readonly [name: string, spec: DirectiveSpec])[];

/** The whole page. */
export function directivesPage(modules: readonly DocumentedModule[]): string {
  const specs = modules.flatMap(specsOf);
  // Some specs name contexts that directives of later versions will open.
  const contexts = new Set<string>(['main', ...specs.map(([, { block }]) => block ?? '')]);
  const sections = modules.map((module) => moduleSection(module, contexts));
  return `${INTRODUCTION}${contents(modules)}\n${sections.join('\n')}`;
}

function specsOf({ declaration }: DocumentedModule): Specs {
  return Object.entries(declaration.manifest.directives ?? {}).map(([key, spec]) => [spec.name ?? key, spec] as const);
}

function contents(modules: readonly DocumentedModule[]): string {
  return modules.map((module) => `- [${module.name}](#${module.name})${listed(specsOf(module).map(([name]) => name))}\n`).join('');
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '' : `: ${names.toSorted().join(', ')}`;
}

function moduleSection(module: DocumentedModule, contexts: ReadonlySet<string>): string {
  const { accepted = [], effective = [] } = Object.groupBy(specsOf(module), ([, spec]) => (isAccepted(spec) ? 'accepted' : 'effective'));
  const parts = [
    `## ${module.name}`,
    module.doc,
    LOADING[module.loading](module),
    ...effective.map(([name, spec]) => directiveSection(name, spec, contexts)),
    acceptedTable(accepted, contexts),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function directiveSection(name: string, spec: DirectiveSpec, contexts: ReadonlySet<string>): string {
  return `### ${name}\n\n    ${synopsis(name, new Signature(spec))}\n\n${spec.doc ?? ''}\n\n${facts(spec, contexts).join('\n')}`;
}

const INHERITANCE: Readonly<Record<Inherit, string | undefined>> = {
  value: undefined,
  append: 'Those of outer levels stay in force beside those of an inner one',
  none: 'Not taken over by inner levels',
};

function facts(
  { in: places, default: fallback, many, inherit = 'value' }: DirectiveSpec,
  contexts: ReadonlySet<string>,
): readonly string[] {
  const inheritance = places.length > 1 ? INHERITANCE[inherit] : undefined;
  return [
    `- Context: ${places.filter((place) => contexts.has(place)).join(', ')}`,
    `- Default: ${fallback === undefined ? 'none' : `\`${fallback}\``}`,
    ...(many ? ['- May stand several times'] : []),
    ...(inheritance === undefined ? [] : [`- ${inheritance}`]),
  ];
}

const ACCEPTED = /^Accepted(?: for compatibility)?[:;]\s*/;

/** Directives that configurations of nginx have and that have nothing to do here. */
function isAccepted({ doc = '' }: DirectiveSpec): boolean {
  return ACCEPTED.test(doc);
}

function acceptedTable(specs: Specs, contexts: ReadonlySet<string>): string {
  if (specs.length === 0) return '';
  const rows = specs.map(([name, spec]) => {
    const syntax = synopsis(name, new Signature(spec)).replaceAll('|', '\\|');
    const [first = '', ...rest] = (spec.doc ?? '').replace(ACCEPTED, '');
    return `| \`${syntax}\` | ${spec.in.filter((place) => contexts.has(place)).join(', ')} | ${first.toUpperCase()}${rest.join('')} |`;
  });
  return ['Accepted, so that configurations of nginx start:', '', '| directive | context | |', '| --- | --- | --- |', ...rows].join('\n');
}
