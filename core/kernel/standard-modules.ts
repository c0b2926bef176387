/** The modules every server has without a `load_module` line, as a standard nginx build has them linked in. Order is load order. */
export const STANDARD_MODULES: readonly string[] = [];
