export type { MountableRoutes } from '../http/mountable-routes.js'
