// Who may use the console.
#include "console/routes/access.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <string>
#include <utility>

using namespace agentcore::detail::console;
using agentcore::TimePoint;

namespace {

Request with(Request::Fields headers) {
  Request request;
  request.headers = std::move(headers);
  return request;
}

int origin_status(const Access& access, Request::Fields headers) {
  const auto refused = access.refuse_origin(with(std::move(headers)));
  return refused ? refused->status : 200;
}

Access at_port(std::uint16_t port, std::string token = {}, std::vector<std::string> names = {}) {
  Access access(std::move(token), std::move(names));
  access.set_address("192.168.1.5", port);
  return access;
}

const TimePoint start{std::chrono::hours(1)};

}  // namespace

TEST_CASE("a request must name this console as its host", "[console][access]") {
  const Access access = at_port(8700, {}, {"Agents.Example.org"});
  for (const std::string host : {"127.0.0.1:8700", "192.168.1.5:8700", "localhost:8700", "LocalHost:8700",
                                 "[::1]:8700", "agents.example.org", "agents.example.org:443"})
    CHECK(origin_status(access, {{"host", host}}) == 200);
  for (const std::string host : {"", "evil.example:8700", "127.0.0.1", "127.0.0.1:80", "localhost:8701",
                                 "localhost.evil.example:8700", "127.0.0.1:8700.evil.example"})
    CHECK(origin_status(access, {{"host", host}}) == 403);
  CHECK(origin_status(access, {}) == 403);
  CHECK(origin_status(access, {{"host", "localhost:8700"}, {"host", "localhost:8700"}}) == 403);
}

TEST_CASE("a request from a page of another site is refused", "[console][access]") {
  const Access access = at_port(8700);
  const auto status = [&](std::string origin) {
    return origin_status(access, {{"host", "localhost:8700"}, {"origin", std::move(origin)}});
  };
  CHECK(status("http://localhost:8700") == 200);
  CHECK(status("http://127.0.0.1:8700") == 403);
  CHECK(status("http://localhost:8701") == 403);
  CHECK(status("http://evil.example") == 403);
  CHECK(status("null") == 403);
  CHECK(status("") == 403);
}

TEST_CASE("with a token, a request needs it or the cookie of a login", "[console][access]") {
  Access access = at_port(1, "secret");
  CHECK_FALSE(access.is_logged_in(with({}), start));
  CHECK(access.is_logged_in(with({{"authorization", "Bearer secret"}}), start));
  CHECK(access.is_logged_in(with({{"authorization", "bearer secret"}}), start));
  for (const std::string header : {"Bearer secre", "Bearer secret2", "Bearer ", "Basic secret", "secret", ""})
    CHECK_FALSE(access.is_logged_in(with({{"authorization", header}}), start));
  CHECK(access.log_in("wrong", start).empty());
  CHECK(access.log_in("", start).empty());
  const std::string set = access.log_in("secret", start);
  CHECK(set.find("HttpOnly") != std::string::npos);
  CHECK(set.find("SameSite=Strict") != std::string::npos);
  CHECK(set.find("secret") == std::string::npos);
  const Request later = with({{"cookie", set.substr(0, set.find(';'))}});
  CHECK(access.is_logged_in(later, start + std::chrono::hours(11)));
  CHECK_FALSE(access.is_logged_in(later, start + std::chrono::hours(13)));
  CHECK_FALSE(access.is_logged_in(with({{"cookie", "agentcore_session_1="}}), start));
  CHECK(access.log_out(later).find("Max-Age=0") != std::string::npos);
  CHECK_FALSE(access.is_logged_in(later, start));
}

TEST_CASE("two logins have different cookies, and the number of logins is limited", "[console][access]") {
  Access access = at_port(1, "secret");
  const std::string first = access.log_in("secret", start);
  CHECK(first != access.log_in("secret", start));
  for (int i = 0; i < 100; ++i) CHECK_FALSE(access.log_in("secret", start).empty());
  CHECK_FALSE(access.is_logged_in(with({{"cookie", first.substr(0, first.find(';'))}}), start));
}

TEST_CASE("two consoles of one host do not end each other's logins", "[console][access]") {
  Access one = at_port(1, "secret"), two = at_port(2, "other");
  const std::string first = one.log_in("secret", start), second = two.log_in("other", start);
  CHECK(first.substr(0, first.find('=')) == "agentcore_session_1");
  CHECK(second.substr(0, second.find('=')) == "agentcore_session_2");
  const Request both =
      with({{"cookie", first.substr(0, first.find(';')) + "; " + second.substr(0, second.find(';'))}});
  CHECK(one.is_logged_in(both, start));
  CHECK(two.is_logged_in(both, start));
}

TEST_CASE("without a token nothing is asked for", "[console][access]") {
  Access access = at_port(1);
  CHECK(access.is_logged_in(with({}), start));
  CHECK(access.log_in("", start).empty());
}

TEST_CASE("only this machine reaches a loopback address", "[console][access]") {
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("::1"));
  CHECK_FALSE(is_loopback("0.0.0.0"));
  CHECK_FALSE(is_loopback("::"));
  CHECK_FALSE(is_loopback("192.168.1.2"));
}
