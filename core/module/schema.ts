/** What schemas of routes are written with. Modules take it from here, so that one outside of the installation needs no package of its own. */
export { Type, type Static, type TSchema } from 'typebox';
