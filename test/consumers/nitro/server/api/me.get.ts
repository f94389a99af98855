import { inject } from 'tokenlib/h3'
import { tokens } from '../utils/tokens'

export default inject({ payload: tokens.accessTokenRequired }, ({ payload }) => ({ id: payload.sub }))
