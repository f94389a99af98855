import { Controller, Get, Module, UseGuards } from '@nestjs/common'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { TokenManager, type TokenPayload } from 'tokenlib'
import * as onExpress from 'tokenlib/express'
import * as onFastify from 'tokenlib/fastify'
import * as onHono from 'tokenlib/hono'
import * as onKoa from 'tokenlib/koa'
import { AccessTokenGuard, Depends, TokenClaims, TokenModule } from 'tokenlib/nest'
import { config, tokens } from './core.js'

const { accessTokenRequired } = tokens

express().get(
  '/me',
  onExpress.enforce(accessTokenRequired),
  onExpress.inject({ payload: accessTokenRequired }, ({ payload }, _req, res) => {
    const id: string = payload.sub
    res.json({ id })
  }),
)
Fastify().get(
  '/me',
  { onRequest: onFastify.enforce(accessTokenRequired) },
  onFastify.inject({ payload: accessTokenRequired }, ({ payload }) => payload.sub.length),
)
new Hono().get(
  '/me',
  onHono.enforce(accessTokenRequired),
  onHono.inject({ payload: accessTokenRequired }, ({ payload }, c) => c.json(payload.sub.length)),
)
new Koa().use(onKoa.handleErrors({ config })).use(onKoa.enforce(accessTokenRequired))

@Controller()
export class AppController {
  constructor(readonly manager: TokenManager) {}

  @Get()
  @UseGuards(AccessTokenGuard)
  me(@TokenClaims() payload: TokenPayload, @Depends(accessTokenRequired) same: TokenPayload): boolean {
    return payload.sub === same.sub
  }
}

@Module({ imports: [TokenModule.forRoot({ tokens })], controllers: [AppController] })
export class AppModule {}
