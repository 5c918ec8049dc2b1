#include "net/redirect.hpp"

#include "net/location.hpp"
#include "support/catch.hpp"

#include <string>

using namespace agentcore::detail::net;

namespace {

Redirect redirect(std::string url, std::string location, int status = 307) {
  HttpRequest request;
  request.url = std::move(url);
  request.max_redirects = 1;
  return redirect_of(request, {.status = status, .fields = {{"location", std::move(location)}}});
}

}  // namespace

TEST_CASE("a redirect is resolved against the URL of the request", "[net]") {
  CHECK(redirect("https://api.test/v1/chat?a=1", "/v2/chat").url == "https://api.test/v2/chat");
  CHECK(redirect("https://api.test/v1/chat", "other?b=2").url == "https://api.test/v1/other?b=2");
  CHECK(redirect("https://api.test/v1/chat", "https://API.test/v2").url.ends_with("/v2"));
}

TEST_CASE("the default port of a scheme equals an explicit one", "[net]") {
  for (const char* location : {"https://api.test/v2", "https://api.test:443/v2", "HTTPS://API.TEST:443/v2"}) {
    CHECK(redirect("https://api.test/v1", location).url.ends_with("/v2"));
    CHECK(redirect("https://api.test:443/v1", location).url.ends_with("/v2"));
    CHECK(redirect("https://api.test:80/v1", location).url.empty());
    CHECK(redirect("http://api.test:443/v1", location).url.empty());
  }
}

TEST_CASE("a redirect to another origin is refused", "[net][O5]") {
  for (const char* location :
       {"https://evil.test/sk-secret", "//evil.test/", "http://api.test/", "https://api.test:444/",
        "https://api.test.evil.test/", "https://api.test@evil.test/", "https://me@api.test/",
        "https://api.test./", "javascript:alert(1)", "ftp://api.test/"}) {
    INFO(location);
    const Redirect found = redirect("https://api.test/v1", location);
    CHECK(found.url.empty());
    CHECK(!found.refusal.empty());
    CHECK(found.refusal.find("evil") == std::string_view::npos);
  }
}

TEST_CASE("the URL in a message never shows credentials or a part of them", "[net][O5]") {
  CHECK(location_of("https://me:secret@api.test/v1/x?key=secret#secret") == "https://api.test:443/v1/x");
  const std::string start = "https://api.test:443/" + std::string(100, 'a') + "/";
  CHECK(location_of(start + std::string(150, 's') + "/x") == start + "...");
  CHECK(location_of("https://api.test/" + std::string(300, 's')) == "https://api.test:443/...");
}

TEST_CASE("only the redirect statuses are redirects", "[net]") {
  for (const int status : {200, 300, 304, 305, 306, 309, 400, 500}) {
    const Redirect found = redirect("https://api.test/v1", "/v2", status);
    CHECK(found.url.empty());
    CHECK(found.refusal.empty());
  }
}
